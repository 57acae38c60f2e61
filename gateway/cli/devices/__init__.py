"""Commands about devices, virtual ones and boards, their broker and their owner's keys."""
