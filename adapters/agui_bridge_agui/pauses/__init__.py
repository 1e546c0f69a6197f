"""What an endpoint asks, as a pause of the bridge, and the answers as that endpoint takes them."""
