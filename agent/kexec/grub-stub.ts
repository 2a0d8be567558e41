import { notUnderstood, parseGrubScript } from '#agent/kexec/grub-script.ts';
import { expandWord, type Variables } from '#agent/kexec/grub-words.ts';

/**
 * Follows a script that only leads to another, as distributions put it beside the loader: `search` for a file system by
 * UUID or label, `set prefix`, `configfile`. Pure.
 * @param end how it has to end; `prefix`: a script inside GRUB, after which that reads `$prefix/grub.cfg`
 * @returns `(UUID=…)/boot/grub/grub.cfg`; without a device: on that from which GRUB was loaded
 * @throws AppError `not_supported` for any other script
 */
export function followGrubStub(text: string, end: 'configfile' | 'prefix'): string {
  const variables: Variables = new Map(['root', 'prefix', 'cmdpath'].map((name) => [name, undefined]));
  let place: string | undefined;
  for (const statement of parseGrubScript(text)) {
    if (statement.kind !== 'command' || statement.body) throw notUnderstood('it does more than lead to another');
    const [name, ...args] = statement.words.flatMap((word) => expandWord(word, variables));
    if (name === undefined || args.includes(undefined)) throw notUnderstood('a variable can not be known without GRUB');
    if (place !== undefined) throw notUnderstood(`\`${name}\` behind \`configfile\``);
    const known = args.filter((each) => each !== undefined);
    if (name === 'configfile' && known.length === 1) place = known[0];
    else runStubCommand(variables, name, known);
  }
  const prefix = variables.get('prefix');
  if (place === undefined && end === 'prefix' && prefix !== undefined) place = `${prefix}/grub.cfg`;
  if (place === undefined) throw notUnderstood('it does more, or less, than lead to another');
  const root = variables.get('root')?.replace(/^\((.*)\)$/, '$1');
  return root !== undefined && place.startsWith('/') ? `(${root})${place}` : place;
}

function runStubCommand(variables: Variables, name: string, args: readonly string[]): void {
  const assignment = /^(\w+)=(.*)$/.exec(name === 'set' && args.length === 1 ? (args[0] ?? '') : name);
  if (assignment) variables.set(assignment[1] ?? '', assignment[2]);
  else if (/^search(\.fs_uuid|\.fs_label)?$/.test(name)) search(variables, name, args);
  else if (name !== 'insmod' && name !== 'export') throw notUnderstood(`the command \`${name}\``);
}

const kinds: Readonly<Record<string, string>> = {
  '.fs_uuid': 'UUID',
  '--fs-uuid': 'UUID',
  '-u': 'UUID',
  '.fs_label': 'LABEL',
  '--fs-label': 'LABEL',
  '--label': 'LABEL',
  '-l': 'LABEL',
};
const harmless = /^--(no-floppy|root-dev-only|hint(-\w+)?=.*)$/;

function search(variables: Variables, name: string, args: readonly string[]): void {
  const isShort = name !== 'search';
  const [value, second] = args.filter((each) => !each.startsWith('-'));
  const options = args.filter((each) => each.startsWith('-') && !harmless.test(each));
  const kindsGiven = [name.slice('search'.length), ...options].flatMap((each) => kinds[each] ?? []);
  const targets = options
    .filter((each) => each.startsWith('--set'))
    .map((each) => (each === '--set' ? 'root' : each.slice('--set='.length)));
  const target = isShort ? second : targets[0];
  const isKnown = options.every((each) => each in kinds || /^--set(=\w+)?$/.test(each));
  const isPlain = isShort ? options.length === 0 : second === undefined && targets.length === 1;
  if (!isKnown || !isPlain || value === undefined || target === undefined || kindsGiven.length !== 1) {
    throw notUnderstood(`\`${name} ${args.join(' ')}\``);
  }
  variables.set(target, `${kindsGiven[0]}=${value}`);
}
