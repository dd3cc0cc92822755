"""A cluster's topology in the formats of NVIDIA's simulator Air and NVIDIA's infra controller."""
