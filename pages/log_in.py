"""`/login/`: the log-in of people, whether or not they may use the admin; wrong passwords are counted as there."""

from django.contrib.auth.views import LoginView


class LogIn(LoginView):
    """Name and password, then the page that was asked for, else the reports."""

    template_name = "pages/log_in.html"
    redirect_authenticated_user = True
    next_page = "reports-page"
