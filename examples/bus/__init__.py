"""What a message bus is for, in eight small programs: `python -m examples.bus.activity_tracking localhost:9092
http://localhost:8081`."""
