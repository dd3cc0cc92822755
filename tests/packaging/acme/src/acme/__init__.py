"""What Acme adds to clusterwright."""
