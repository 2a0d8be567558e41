/** A change, as a simulator's own output of the command shows it. */
export interface Change {
  /** The simulator's own output, before and after. */
  readonly before: string;
  readonly after: string;
  /** The setting that a line of a section is of: one that is set takes the place of another. */
  readonly keyOf?: (line: string) => string;
}

/** Edits an output in its place: whatever the simulator's own output doesn't show changed stays as the switch printed it. Pure. */
export function editRecorded(recorded: string, change: Change): string {
  const { before, after } = change;
  if (before === after) return recorded;
  if (/^\s*[{[]/.test(recorded)) {
    return JSON.stringify(editTree(JSON.parse(recorded), JSON.parse(before), JSON.parse(after)));
  }
  if (/^Name: /m.test(after)) return editBlocks(recorded, change);
  if (/^interface /m.test(`${before}\n${after}`)) return editSections(recorded, change);
  return /^set /m.test(`${before}\n${after}`) ? editLines(recorded, change) : editRows(recorded, change);
}

const isTree = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function editTree(recorded: unknown, before: unknown, after: unknown): unknown {
  if (!isTree(recorded) || !isTree(before) || !isTree(after)) return after;
  const left = Object.entries(recorded).filter(([key]) => !(key in before) || key in after);
  const edited: Record<string, unknown> = Object.fromEntries(left);
  for (const [key, value] of Object.entries(after)) {
    if (JSON.stringify(before[key]) === JSON.stringify(value)) continue;
    edited[key] = key in edited && key in before ? editTree(edited[key], before[key], value) : value;
  }
  return edited;
}

/** Lines of `display set`. */
function editLines(recorded: string, { before, after }: Change): string {
  const was = before.split('\n');
  const is = after.split('\n').filter(Boolean);
  const isLeft = (line: string): boolean => line !== '' && (!was.includes(line.trim()) || is.includes(line.trim()));
  const left = recorded.split('\n').filter(isLeft);
  return [...left, ...is.filter((line) => !was.includes(line) && !left.includes(line))].join('\n');
}

/** Blocks of fields, each of which begins with a port's name. */
function editBlocks(recorded: string, { before, after }: Change): string {
  const [was, is] = [blocksOf(before), blocksOf(after)];
  const names = blocksOf(recorded);
  const edited = recorded.split(/^(?=Name: )/m).flatMap((block) => {
    const name = nameIn(block);
    if (name === undefined || !was.has(name)) return block;
    const changed = is.get(name);
    return changed === undefined ? [] : editFields(block, fieldsOf(was.get(name) ?? ''), fieldsOf(changed));
  });
  const added = [...is].flatMap(([name, block]) => (was.has(name) || names.has(name) ? [] : block.trimEnd()));
  return [edited.join('').trimEnd(), ...added].join('\n');
}

const nameIn = (block: string): string | undefined => /^Name: *(\S+)/.exec(block)?.[1];

const blocksOf = (text: string): Map<string, string> =>
  new Map(
    text.split(/^(?=Name: )/m).flatMap((block) => (nameIn(block) ? [[nameIn(block) ?? '', block] as const] : [])),
  );

const fieldsOf = (block: string): Map<string, string> =>
  new Map([...block.matchAll(/^\s*([^:\n]+?) *: *(.*?) *$/gm)].map(([, name = '', value = '']) => [name, value]));

function editFields(block: string, was: ReadonlyMap<string, string>, is: ReadonlyMap<string, string>): string {
  return block.replace(
    /^(\s*)([^:\n]+?)( *: *)(.*)$/gm,
    (line, indent: string, name: string, mid: string, value: string) => {
      const now = is.get(name);
      // a port without link stays so
      const isDown = name === 'Operational Mode' && value.startsWith('down');
      return now === undefined || now === was.get(name) || isDown ? line : `${indent}${name}${mid}${now}`;
    },
  );
}

const headOf = (line: string): string => line.trim().replace(/\s+/g, ' ');

function sectionsOf(text: string): Map<string, string[]> {
  const sections = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    if (/^\S/.test(line)) {
      lines = [];
      sections.set(headOf(line), lines);
    } else if (/\S/.test(line)) lines.push(line.trim());
  }
  return sections;
}

/** A configuration: sections with indented lines. */
function editSections(recorded: string, { before, after, keyOf = (line) => line }: Change): string {
  const was = sectionsOf(before);
  const is = sectionsOf(after);
  const all = sectionsOf(recorded);
  const indent = /^([ \t]+)\S/m.exec(recorded)?.[1] ?? '   ';
  const isGone = (head: string): boolean => was.has(head) && !is.has(head);
  const addedTo = (head: string): string[] =>
    (is.get(head) ?? []).filter((line) => !was.get(head)?.includes(line) && !all.get(head)?.includes(line));
  const edited: string[] = [];
  let head = '';
  let added: string[] = [];
  const end = (): void => {
    edited.push(...added.map((line) => `${indent}${line}`));
    added = [];
  };
  for (const raw of recorded.trimEnd().split('\n')) {
    const line = raw.trim();
    if (/^\S/.test(raw)) {
      end();
      head = headOf(raw);
      added = isGone(head) ? [] : addedTo(head);
      if (!isGone(head)) edited.push(raw);
    } else if (line === '') {
      end();
      edited.push(raw);
    } else if (!isGone(head)) {
      const isOld = was.get(head)?.includes(line) === true && !is.get(head)?.includes(line);
      if (!isOld && !addedTo(head).some((each) => keyOf(each) === keyOf(line))) edited.push(raw);
    }
  }
  end();
  const made = [...is].filter(([name]) => !was.has(name) && !all.has(name));
  const sections = made.flatMap(([name, lines]) => [name, ...lines.map((line) => `${indent}${line}`)]);
  return edited.toSpliced(behindInterfaces(edited), 0, ...sections).join('\n');
}

/** The place of a new section: behind the interfaces, before what a configuration says after them. */
function behindInterfaces(lines: readonly string[]): number {
  const last = lines.findLastIndex((line) => line.startsWith('interface '));
  const next = lines.findIndex((line, index) => index > last && /^[^\s!]/.test(line));
  return last < 0 || next < 0 ? lines.length : next;
}

/** Rows by their number or name, perhaps behind a code; a line that is indented far goes on with the row above it. */
const row = /^ {0,8}(?:[*@#A-Z]{1,2} +)?(\S*\d\S*)(?=\s|$)/;

function editRows(recorded: string, { before, after }: Change): string {
  const rowsOf = (text: string) =>
    new Map(text.split('\n').flatMap((line) => (row.exec(line) ? [[row.exec(line)?.[1] ?? '', line] as const] : [])));
  const was = rowsOf(before);
  const is = rowsOf(after);
  const all = rowsOf(recorded);
  let isGone = false;
  const edited = recorded
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      const key = row.exec(line)?.[1];
      if (key === undefined) return isGone && /^\s/.test(line) ? [] : line;
      const now = is.get(key);
      isGone = was.has(key) && now === undefined;
      if (isGone) return [];
      return now === undefined || now === was.get(key) ? line : editRow(line, was.get(key) ?? '', now);
    });
  return [...edited, ...[...is].flatMap(([key, line]) => (was.has(key) || all.has(key) ? [] : line))].join('\n');
}

/** A port's VLAN and mode; the rest of the row stays where it is the same. */
function editRow(line: string, was: string, now: string): string {
  const form = /^(\S+\s+)(\S+)(\s+)([a-z]+)(\s.*)$/;
  const [old, then, next] = [line, was, now].map((text) => form.exec(text));
  if (!old || !then || !next || then[5]?.trim() !== next[5]?.trim()) return now;
  return `${old[1]}${`${next[2]} `.padEnd(`${old[2]}${old[3]}`.length)}${next[4]}${old[5]}`;
}
