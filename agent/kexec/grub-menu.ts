import { notUnderstood, parseGrubScript, type Statement, type Word } from '#agent/kexec/grub-script.ts';
import { evaluateTest, expandWord, quoteForKernel, type Truth, type Variables } from '#agent/kexec/grub-words.ts';
import type { LoaderEntry } from '#agent/kexec/loader-entries.ts';
import type { FilePart } from '#agent/kexec/unified-image.ts';

/** Facts that GRUB knows beside its configuration. */
export interface GrubFacts {
  readonly platform: 'efi' | 'pc';
  /** Names of the files beside the configuration. */
  readonly files: ReadonlySet<string>;
  /** Variables of `grubenv`. */
  readonly saved: ReadonlyMap<string, string>;
  /** Entries of `/loader/entries`, in the menu's order. */
  readonly loaderEntries: readonly LoaderEntry[];
}

/** The choice that would be booted, paths as GRUB has them. */
export interface BootChoice {
  readonly title: string;
  readonly kernel: BootPath;
  readonly initrds: readonly BootPath[];
  readonly commandLine: string;
  /** Another entry is tried where this one fails. */
  readonly hasFallback?: boolean;
}

export interface BootPath {
  /** `UUID=…`, `LABEL=…`, `hd0,gpt2`; `undefined` = the partition of the configuration. */
  readonly device: string | undefined;
  readonly path: string;
  /** Part of the file; absent = all of it. */
  readonly part?: FilePart;
}

interface MenuEntry {
  readonly title: string;
  readonly id: string | undefined;
  readonly body: readonly Statement[];
  /** It may not be there: nothing behind it can be found by its number. */
  readonly isCertain: boolean;
  readonly isSubmenu: boolean;
}

interface Running {
  readonly facts: GrubFacts;
  readonly variables: Variables;
  readonly functions: Map<string, readonly Statement[]>;
  readonly entries: MenuEntry[];
  readonly loaded: { kernel?: BootPath; commandLine?: string; initrds?: readonly BootPath[] };
}

const prefix = '(prefix)';
const features = ['all_video_module', 'chainloader_bpb', 'default_font_path', 'menuentry_id', 'menuentry_options'];
/** The kernel's `COMMAND_LINE_SIZE` on x86, less its NUL. */
const maxCommandLineBytes = 2047;
/** They boot something else, or change what `linux` boots. */
const foreign = /^(chainloader|configfile|devicetree|legacy|multiboot|module|ntldr|normal|source|\.|sb|uki|xen)/;

/**
 * The entry that GRUB would start by itself. The script is run, with all that it can't know here kept apart: a choice that
 * depends on it is refused. Pure.
 * @throws AppError `not_supported` naming what is not understood
 */
export function chooseGrubEntry(text: string, facts: GrubFacts): BootChoice {
  const running: Running = {
    facts,
    variables: new Map<string, string | undefined>([
      ['prefix', prefix],
      ['config_directory', prefix],
      ['grub_platform', facts.platform],
      ['grub_cpu', facts.platform === 'efi' ? 'x86_64' : 'i386'],
      ...['platform_search_hint', 'timeout_style', ...features].map((name) => [`feature_${name}`, 'y'] as const),
    ]),
    functions: new Map(),
    entries: [],
    loaded: {},
  };
  if (facts.saved.get('next_entry'))
    throw notUnderstood('grubenv has a next_entry, which is for one boot by GRUB alone');
  run(running, parseGrubScript(text), true);
  const wanted = running.variables.has('default') ? running.variables.get('default') : '0';
  if (wanted === undefined) throw notUnderstood('its default can not be known without GRUB');
  return bootEntry(running, findEntry(running, wanted || '0'));
}

function findEntry(running: Running, wanted: string): MenuEntry {
  const [first = '', ...rest] = wanted.split('>');
  const known = running.entries.findIndex(({ isCertain }) => !isCertain);
  const numbered = known < 0 ? running.entries : running.entries.slice(0, known);
  const entry = /^\d+$/.test(first)
    ? numbered[Number(first)]
    : running.entries.find(({ id, title, isCertain }) => isCertain && (id === first || title === first));
  if (!entry) throw notUnderstood(`its default "${wanted}" is none of the entries that are certain to be there`);
  if (entry.isSubmenu !== rest.length > 0) throw notUnderstood(`its default "${wanted}" is a menu, not an entry`);
  if (rest.length === 0) return entry;
  const within: Running = { ...running, variables: new Map(running.variables), entries: [] };
  run(within, entry.body, true);
  return findEntry(within, rest.join('>'));
}

function bootEntry(running: Running, entry: MenuEntry): BootChoice {
  const booting: Running = { ...running, variables: new Map(running.variables), entries: [], loaded: {} };
  run(booting, entry.body, true);
  const { kernel, commandLine = '', initrds = [] } = booting.loaded;
  if (!kernel) throw notUnderstood(`its entry "${entry.title}" starts no Linux kernel`);
  if (Buffer.byteLength(commandLine) > maxCommandLineBytes) {
    throw notUnderstood(`its command line is longer than ${maxCommandLineBytes} bytes`);
  }
  const hasFallback = running.variables.get('fallback') !== '' && running.variables.has('fallback');
  return { title: entry.title, kernel, initrds, commandLine, ...(hasFallback ? { hasFallback } : {}) };
}

/** @param isCertain whether it is known that GRUB gets here */
function run(running: Running, statements: readonly Statement[], isCertain: boolean): Truth {
  let status: Truth = true;
  for (const statement of statements) {
    if (statement.kind === 'command') {
      status = runCommand(running, statement, isCertain);
      continue;
    }
    status = undefined;
    if (statement.kind === 'function') running.functions.set(statement.name, statement.body);
    else if (statement.kind === 'loop') run(running, statement.body, false);
    else runIf(running, statement.branches, isCertain);
  }
  return status;
}

function runIf(running: Running, branches: Extract<Statement, { kind: 'if' }>['branches'], isCertain: boolean): void {
  let certain = isCertain;
  for (const { condition, body } of branches) {
    const holds = condition ? run(running, condition, certain) : true;
    if (holds === false) continue;
    run(running, body, certain && holds === true);
    if (holds === true) return;
    // neither this branch nor what follows is known to be run
    certain = false;
  }
}

function runCommand(
  running: Running,
  { words, body }: Extract<Statement, { kind: 'command' }>,
  isCertain: boolean,
): Truth {
  const [name, ...args] = words.flatMap((word) => expandWord(word, running.variables));
  if (name === undefined) return undefined;
  const assignment = /^(\w+)=([\s\S]*)$/.exec(name === 'set' && args.length === 1 ? (args[0] ?? '') : name);
  if (assignment) return setVariable(running, assignment[1] ?? '', assignment[2], isCertain);
  if (name === 'set' && args[0] === undefined) return setUnknown(running, words[1]);
  switch (name) {
    case '[':
      return evaluateTest(args.slice(0, -1), (path) => hasFile(running.facts, path));
    case 'test':
      return evaluateTest(args, (path) => hasFile(running.facts, path));
    case 'true':
    case 'false':
      return name === 'true';
    case 'unset':
      return setVariable(running, args[0] ?? '', '', isCertain);
    case 'load_env':
      return loadEnvironment(running, args, isCertain);
    case 'menuentry':
    case 'submenu':
      running.entries.push(readEntry(args, body ?? [], { isCertain, isSubmenu: name === 'submenu' }));
      return true;
    case 'blscfg':
      if (!isCertain) throw notUnderstood('`blscfg` depends on what only GRUB knows');
      running.entries.push(...running.facts.loaderEntries.map(entryOfLoader));
      return true;
    default:
      return /^search(\.|$)/.test(name)
        ? runSearch(running, name, args, isCertain)
        : runLoad(running, name, args, isCertain);
  }
}

/** Runs what loads a kernel; a function that does is not followed; all else is of no matter. */
function runLoad(running: Running, name: string, args: readonly (string | undefined)[], isCertain: boolean): Truth {
  const { loaded, functions } = running;
  const loads = /^(linux|initrd)(16|efi)?$/.exec(name)?.[1];
  if (foreign.test(name) || (functions.has(name) && loadsSomething(functions.get(name) ?? []))) {
    throw notUnderstood(`the command \`${name}\``);
  }
  if (!loads) return undefined;
  if (!isCertain) throw notUnderstood(`\`${name}\` depends on what only GRUB knows`);
  if (args.includes(undefined)) throw notUnderstood(`a variable of \`${name}\` can not be known without GRUB`);
  const known = args.filter((each) => each !== undefined);
  if (loads === 'initrd') loaded.initrds = known.map((path) => bootPath(running, path));
  else {
    const [path = '', ...rest] = known;
    loaded.kernel = bootPath(running, path);
    loaded.commandLine = rest.map(quoteForKernel).join(' ');
    delete loaded.initrds;
  }
  return true;
}

function loadsSomething(statements: readonly Statement[]): boolean {
  return statements.some((statement) => {
    if (statement.kind === 'if') return statement.branches.some(({ body }) => loadsSomething(body));
    if (statement.kind !== 'command') return loadsSomething(statement.body);
    const [piece] = statement.words[0] ?? [];
    const name = piece && 'text' in piece ? piece.text : '';
    return foreign.test(name) || /^(linux|initrd|blscfg|menuentry|submenu)/.test(name);
  });
}

function bootPath({ variables }: Running, text: string): BootPath {
  const [, named, path = ''] = /^(?:\(([^)]*)\))?(\/.*)$/.exec(text) ?? [];
  if (path === '') throw notUnderstood(`\`${text}\` is not a path`);
  if (named !== undefined) return { device: named, path };
  if (variables.has('root') && variables.get('root') === undefined) {
    throw notUnderstood(`the partition of ${path} can not be known without GRUB`);
  }
  return { device: variables.get('root')?.replace(/^\((.*)\)$/, '$1') || undefined, path };
}

function runSearch(running: Running, name: string, args: readonly (string | undefined)[], isCertain: boolean): Truth {
  const options = args.filter((each) => each?.startsWith('-'));
  const [key, second] = args.filter((each) => !each?.startsWith('-'));
  const by = name.split('.')[1] ?? options.map((each) => searchKinds.get(each ?? '')).find(Boolean) ?? 'file';
  const variable = name.includes('.')
    ? (second ?? 'root')
    : options.map((each) => /^--set(?:=(\w+))?$/.exec(each ?? '')).find(Boolean);
  if (!variable) return undefined;
  const tag = { fs_uuid: 'UUID', fs_label: 'LABEL' }[by];
  const found = tag === undefined || key === undefined ? undefined : `${tag}=${key}`;
  setVariable(running, typeof variable === 'string' ? variable : (variable[1] ?? 'root'), found, isCertain);
  // whether it is found is seen when the partition is looked for
  return undefined;
}

const searchKinds: ReadonlyMap<string, string> = new Map([
  ['--fs-uuid', 'fs_uuid'],
  ['-u', 'fs_uuid'],
  ['--label', 'fs_label'],
  ['--fs-label', 'fs_label'],
  ['-l', 'fs_label'],
]);

function loadEnvironment(running: Running, args: readonly (string | undefined)[], isCertain: boolean): Truth {
  const only = args.filter((each, index) => !each?.startsWith('-') && !/^(-f|--file)$/.test(args[index - 1] ?? ''));
  for (const [name, value] of running.facts.saved) {
    if (only.length === 0 || only.includes(name)) setVariable(running, name, value, isCertain);
  }
  return true;
}

function setVariable({ variables }: Running, name: string, value: string | undefined, isCertain: boolean): Truth {
  variables.set(name, isCertain || variables.get(name) === value ? value : undefined);
  return true;
}

/** `set name=` and something that isn't known. */
function setUnknown({ variables }: Running, word: Word | undefined): Truth {
  const [first] = word ?? [];
  const [, name] = /^(\w+)=/.exec(first && 'text' in first ? first.text : '') ?? [];
  if (name !== undefined) variables.set(name, undefined);
  return true;
}

function hasFile({ files }: GrubFacts, path: string): Truth {
  return path.startsWith(`${prefix}/`) ? files.has(path.slice(prefix.length + 1)) : undefined;
}

function readEntry(
  args: readonly (string | undefined)[],
  body: readonly Statement[],
  place: Pick<MenuEntry, 'isCertain' | 'isSubmenu'>,
): MenuEntry {
  const at = args.indexOf('--id');
  const id = at < 0 ? args.find((each) => each?.startsWith('--id='))?.slice('--id='.length) : args[at + 1];
  return { title: args[0] ?? '', id, body, ...place };
}

/** Makes an entry as GRUB's `blscfg` does: its variables are those of the moment at which it is booted. */
function entryOfLoader({ id, title, linux, initrds, options }: LoaderEntry): MenuEntry {
  const initrd = initrds.length > 0 ? `\ninitrd ${initrds.join(' ')}` : '';
  const body = parseGrubScript(`linux ${linux} ${options ?? '$default_kernelopts'}${initrd}`);
  return { title, id, body, isCertain: true, isSubmenu: false };
}
