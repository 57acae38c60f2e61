"""One sensor a file: each has `step`, `sensors`, `counts()` and `read(params)`; see `yours`."""
