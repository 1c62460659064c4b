"""Files of finite faults."""
