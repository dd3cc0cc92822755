"""A cluster's topology in the forms of other programs: NVIDIA's simulator Air and NVIDIA's infra controller."""
