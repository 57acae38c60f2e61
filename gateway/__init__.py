"""The service: runs the rounds over MQTT, keeps what came, shows the map."""
