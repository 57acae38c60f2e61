"""What is reckoned, enumerated and searched: no device is asked, or one alone."""
