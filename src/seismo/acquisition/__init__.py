"""Sources and receivers: wavelets, mechanisms, stations, shots, processing of traces."""
