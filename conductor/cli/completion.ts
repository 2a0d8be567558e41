import { type Command, optionsOf } from '#conductor/cli/command.ts';

/**
 * A bash function that completes what the table of commands knows, without starting a process: the words of commands,
 * then their options; files behind options whose value is one.
 */
export function bashCompletion(commands: readonly Command[]): string {
  const lines = commands.map((command) => {
    const flags = Object.keys(optionsOf(command)).map((name) => `--${name}`);
    return `  '${command.words}|${flags.join(' ')}'`;
  });
  return `_baton_commands=(
${lines.join('\n')}
)
_baton() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[*]:1:COMP_CWORD-1}" entry words found='' options=''
  local -a next=()
  for entry in "\${_baton_commands[@]}"; do
    words="\${entry%%|*}"
    if [[ "$before " == "$words "* && \${#words} -gt \${#found} ]]; then
      found="$words" options="\${entry#*|}"
    fi
    if [[ -z $before ]]; then next+=("\${words%% *}")
    elif [[ "$words" == "$before "* ]]; then words="\${words#"$before "}" && next+=("\${words%% *}"); fi
  done
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ \${#next[@]} -gt 0 ]]; then COMPREPLY=($(compgen -W "\${next[*]}" -- "$current"))
  else COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -F _baton baton
`;
}
