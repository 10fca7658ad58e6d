"""The ops that say a definition: upstream's named ops, those with maps, categories, ours."""
