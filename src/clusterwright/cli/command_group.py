"""Groups of subcommands with whole sentences in their help, and suggestions for misspelt names."""

from __future__ import annotations

import click

from clusterwright.cli.shared_options import with_shared_options
from clusterwright.nearest_name import did_you_mean

_WHOLE_SENTENCE = 500  # characters; click cuts the summaries of commands at the first line's end


class CommandGroup(click.Group):
    """A click group with whole summaries, wrapped, and a suggestion for a misspelt name."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand called ``cmd_name``, with the options in common to all commands."""
        command = super().get_command(ctx, cmd_name)
        return None if command is None else with_shared_options(command, f"{self.name} {cmd_name}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each subcommand with the first sentence of its help."""
        with formatter.section("Commands"):
            formatter.write_dl(self.summaries(ctx))

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Each subcommand's name and the first sentence of its help."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        return [(name, command.get_short_help_str(_WHOLE_SENTENCE)) for name, command in commands if command]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does, with a suggestion for a misspelt name."""
        command_names = self.list_commands(ctx)
        if args and args[0] not in command_names and not args[0].startswith("-"):
            hint = did_you_mean(args[0], command_names, f"There are: {', '.join(command_names)}.")
            ctx.fail(f'There is no command "{args[0]}". {hint}')
        return super().resolve_command(ctx, args)
