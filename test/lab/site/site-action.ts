import type { ActionAnswer, ActionGroupAnswer } from '#conductor/api/actions.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { baton, batonOnTerminal } from '#test/lab/baton-command.ts';
import type { Lab } from '#test/lab/lab.ts';

export interface SeenAction {
  readonly action: ActionAnswer;
  /** Exit code of the command, which waits for the action's end. */
  readonly exitCode: number;
  readonly wallMs: number;
}

export interface ActionOptions {
  readonly parameters?: Readonly<Record<string, string>>;
  /** Gets what the command prints; without it the command has the terminal. */
  readonly show: ((line: string) => void) | undefined;
  readonly timeoutMs: number;
}

/** Composes the arguments that are given to `baton`. */
export function actionCommand(name: ActionAnswer['name'], parameters: ActionOptions['parameters'] = {}): string[] {
  return [
    'action',
    'create',
    name,
    ...Object.entries(parameters).flatMap(([key, value]) => ['--param', `${key}=${value}`]),
  ];
}

/**
 * `baton action create NAME --wait`, and the action as it has ended.
 */
export async function runAction(
  lab: Lab,
  name: ActionAnswer['name'],
  { parameters = {}, show, timeoutMs }: ActionOptions,
): Promise<SeenAction> {
  const startedMs = performance.now();
  const wait = ['--wait', '--timeout', String(Math.ceil(timeoutMs / 1000))];
  const args = [...actionCommand(name, parameters), ...wait];
  const exitCode = show
    ? (await baton(lab, args, { onLine: show, timeoutMs: timeoutMs + 30_000, okExitCodes: [0, 1] })).exitCode
    : await batonOnTerminal(lab, args);
  const wallMs = performance.now() - startedMs;
  const actions = await lab.api.call<ActionAnswer[]>('GET', '/api/v1.0/actions');
  const newest = actions.find((each) => each.name === name);
  if (!newest) throw new AppError('not_found', `no action ${name} after baton action create ${name}`);
  const action = await lab.api.call<ActionAnswer>('GET', `/api/v1.0/actions/${newest.id}`);
  return { action, exitCode, wallMs };
}

/** @throws AppError `not_found` */
export function groupOf(action: ActionAnswer, name: string): ActionGroupAnswer {
  const group = action.groups?.find((each) => each.name === name);
  if (!group) throw new AppError('not_found', `action ${action.id} has no group ${name}`);
  return group;
}
