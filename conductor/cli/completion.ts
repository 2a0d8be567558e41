import { type Command, optionsOf } from '#conductor/cli/shell/command.ts';

/** A script that a shell reads, made of the table of commands. */
interface CompletionShell {
  readonly shell: 'bash' | 'zsh' | 'fish';
  readonly use: string;
  readonly render: (commands: readonly Command[]) => string;
}

/** `node show|--output --help|NODE`: words, options, and NODE where names of nodes stand behind them. */
function entries(commands: readonly Command[]): string {
  const lines = commands.map((command) => {
    const flags = Object.keys(optionsOf(command)).map((name) => `--${name}`);
    const isOfNodes = command.operands?.[0]?.includes('NODE') === true;
    return `  '${command.words}|${flags.join(' ')}|${isOfNodes ? 'NODE' : ''}'`;
  });
  return lines.join('\n');
}

const names = 'baton node list -o name 2>/dev/null';

/** Files behind options whose value is one; the conductor is asked for the names of nodes alone. */
const bash = (commands: readonly Command[]): string => `_baton_commands=(
${entries(commands)}
)
_baton() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[*]:1:COMP_CWORD-1}" entry words rest found='' options='' operand=''
  local -a next=()
  for entry in "\${_baton_commands[@]}"; do
    words="\${entry%%|*}" rest="\${entry#*|}"
    if [[ "$before " == "$words "* && \${#words} -gt \${#found} ]]; then
      found="$words" options="\${rest%|*}" operand="\${rest##*|}"
    fi
    if [[ -z $before ]]; then next+=("\${words%% *}")
    elif [[ "$words" == "$before "* ]]; then words="\${words#"$before "}" && next+=("\${words%% *}"); fi
  done
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ \${#next[@]} -gt 0 ]]; then COMPREPLY=($(compgen -W "\${next[*]}" -- "$current"))
  elif [[ $operand == NODE && \${COMP_WORDS[COMP_CWORD-1]} != -* ]]; then COMPREPLY=($(compgen -W "$(${names})" -- "$current"))
  else COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -F _baton baton
`;

const zsh = (commands: readonly Command[]): string => `#compdef baton
_baton_commands=(
${entries(commands)}
)
_baton() {
  local before="\${(j: :)words[2,CURRENT-1]}" entry command rest found='' options='' operand=''
  local -a next
  for entry in "\${_baton_commands[@]}"; do
    command="\${entry%%|*}" rest="\${entry#*|}"
    if [[ "$before " == "$command "* && \${#command} -gt \${#found} ]]; then
      found="$command" options="\${rest%|*}" operand="\${rest##*|}"
    fi
    if [[ -z $before ]]; then next+=("\${command%% *}")
    elif [[ "$command" == "$before "* ]]; then command="\${command#"$before "}" && next+=("\${command%% *}"); fi
  done
  if [[ $words[CURRENT] == -* ]]; then compadd -- \${=options}
  elif (( $#next )); then compadd -- \${(u)next}
  elif [[ $operand == NODE && $words[CURRENT-1] != -* ]]; then compadd -- \${(f)"$(${names})"}
  else _files; fi
}
compdef _baton baton
`;

const fish = (commands: readonly Command[]): string => `set -g _baton_commands \\
${entries(commands).replaceAll('\n', ' \\\n')}
function _baton
  set -l words (commandline -opc) ''
  set -l before (string join ' ' -- $words[2..-2])
  set -l current (commandline -ct)
  set -l found ''
  set -l options
  set -l operand
  set -l next
  for entry in $_baton_commands
    set -l parts (string split '|' -- $entry)
    set -l prefix "$parts[1] "
    if test (string sub -l (string length -- $prefix) -- "$before ") = $prefix
      if test (string length -- $parts[1]) -gt (string length -- $found)
        set found $parts[1]
        set options (string split ' ' -- $parts[2])
        set operand $parts[3]
      end
    end
    if test -z "$before"
      set -a next (string split ' ' -- $parts[1])[1]
    else if test (string sub -l (string length -- "$before ") -- $parts[1]) = "$before "
      set -l rest (string sub -s (math (string length -- "$before ") + 1) -- $parts[1])
      set -a next (string split ' ' -- $rest)[1]
    end
  end
  if string match -q -- '-*' $current
    printf '%s\\n' $options
  else if set -q next[1]
    printf '%s\\n' $next | sort -u
  else if test "$operand" = NODE; and not string match -q -- '-*' $words[-2]
    ${names.replace(' 2>', ' 2> ')}
  else
    __fish_complete_path $current
  end
end
complete -c baton -f -a '(_baton)'
`;

export const completionShells: readonly CompletionShell[] = [
  { shell: 'bash', use: 'source <(baton completion bash)', render: bash },
  { shell: 'zsh', use: 'source <(baton completion zsh), after compinit', render: zsh },
  { shell: 'fish', use: 'baton completion fish | source', render: fish },
];
