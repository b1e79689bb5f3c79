"""What does a trained memory encode?"""
