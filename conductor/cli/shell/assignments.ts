import { readInputFile } from '#conductor/cli/shell/input-files.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { isJsonObject } from '#conductor/model/json-object.ts';
import { findSecrets } from '#conductor/model/secret-names.ts';

/** `driver_info.redfish_username=admin`: what an operator writes in place of JSON. */
export interface Assignment {
  /** `['driver_info', 'redfish_username']` */
  readonly path: readonly string[];
  readonly value: unknown;
}

/** For the help of commands that take them. */
export const assignmentHelp =
  'FIELD=TEXT, FIELD.KEY=TEXT (driver_info.redfish_username=admin), FIELD:=JSON (properties.cpus:=8),\n' +
  'FIELD=@FILE for the text of a file (@- = standard input), so that no secret stands among the arguments.';

const form = /^([a-z_]+(?:\.[^.=:]+)*)(:?=)([\s\S]*)$/;

/**
 * @param notify called with each warning: a secret that is not a file's
 * @throws AppError `invalid_argument` naming the operand, without its value, which may be a secret
 */
export async function readAssignments(
  operands: readonly string[],
  { notify }: { readonly notify?: (line: string) => void } = {},
): Promise<Assignment[]> {
  const assignments: Assignment[] = [];
  for (const operand of operands) {
    const assignment = await readAssignment(operand);
    assignments.push(assignment);
    if (notify && !isOfFile(operand)) bareSecrets(assignment).forEach((name) => notify(warnOfSecret(name)));
  }
  return assignments;
}

function isOfFile(operand: string): boolean {
  const [, , operator, text = ''] = form.exec(operand) ?? [];
  return operator === '=' && text.startsWith('@');
}

/**
 * Finds secrets in the argument itself, which all processes of the machine may read: `driver_info.redfish_password`.
 */
function bareSecrets(assignment: Assignment): string[] {
  const found = findSecrets(toObject([assignment]));
  return found.flatMap(({ path, kind }) => (kind === 'secret' ? [path.join('.')] : []));
}

function warnOfSecret(name: string): string {
  return (
    `${name}: it stands among the arguments, where every user of this machine can read it, and in the shell's history; ` +
    `${name}=@FILE takes it from a file, ${name}=@- from standard input`
  );
}

async function readAssignment(operand: string): Promise<Assignment> {
  const [, name = '', operator, text = ''] = form.exec(operand) ?? [];
  if (operator === undefined) {
    const shown = operand.replace(/=[\s\S]*/, '=…');
    throw usageError(`${shown}: it must be FIELD=TEXT, FIELD.KEY=TEXT, FIELD:=JSON or FIELD=@FILE`);
  }
  const path = name.split('.');
  if (operator === ':=') return { path, value: parseJson(name, text) };
  if (!text.startsWith('@')) return { path, value: text };
  // a file that an editor has written ends with a line feed, which is not a part of a password
  return { path, value: (await readInputFile(name, text.slice(1))).replace(/\r?\n$/, '') };
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    // the parser's message repeats the text
    throw usageError(`${name}:=…: it must be JSON`);
  }
}

interface PatchOperation {
  readonly op: 'add' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

/** `/driver_info/redfish_username` */
function pointer(path: readonly string[]): string {
  return path.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Assignments, and fields to take away, as the API's JSON patch. Pure. */
export function toPatch(assignments: readonly Assignment[], removed: readonly string[] = []): PatchOperation[] {
  return [
    ...assignments.map(({ path, value }) => ({ op: 'add' as const, path: pointer(path), value })),
    ...removed.map((name) => ({ op: 'remove' as const, path: pointer(name.split('.')) })),
  ];
}

/** Assignments as the body that makes something. Pure. */
export function toObject(assignments: readonly Assignment[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const { path, value } of assignments) {
    let place = object;
    for (const part of path.slice(0, -1)) {
      const inner = Object.hasOwn(place, part) ? place[part] : undefined;
      const next = isJsonObject(inner) ? inner : {};
      place[part] = next;
      place = next;
    }
    place[path.at(-1) ?? ''] = value;
  }
  return object;
}
