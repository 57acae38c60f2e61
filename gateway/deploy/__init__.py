"""Files that others run: systemd, Docker, mosquitto, Grafana."""
