"""What several tests use: toy worlds, a fake model, slow and obvious reference algorithms, snapshots of trees. Knows no network."""
