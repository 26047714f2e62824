"""The same stream applications with each library, as processes of their own: MODULE BOOTSTRAP GROUP JOB GUARANTEE STATE_DIR."""
