"""Closed forms written by ``varprop derive``; do not edit."""

FORMS = {}
