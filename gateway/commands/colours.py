"""The colours of pictures: what is true, what was sent, what was found, what is faint."""

TRUE, SENT, FOUND, FAINT = "#3b3355", "#c2410c", "#8f1d5b", "#b9b3c6"
