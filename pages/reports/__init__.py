"""The pages of reports: list, order form, a report live and complete, and what holders of a link see."""
