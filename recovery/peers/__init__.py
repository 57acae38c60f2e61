"""Estimators that the papers compare against."""
