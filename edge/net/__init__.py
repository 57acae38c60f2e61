"""The link to the broker: MQTT, TLS, the spool of frames and the times at which they leave."""
