import { AppError } from '#shared/errors/app-error.ts';

export type Transitions<State extends string> = Readonly<Record<State, readonly State[]>>;

export function statesOf<State extends string>(
  table: Readonly<Record<State, readonly string[]>>,
): readonly [State, ...State[]] {
  return Object.keys(table) as [State, ...State[]];
}

/** Returns the states from which `to` can be reached in one step: what a statement that moves a row there asks for. */
export function statesBefore<State extends string>(table: Transitions<State>, to: State): State[] {
  return statesOf(table).filter((state) => table[state].includes(to));
}

/** Checks that no state follows. */
export function isFinal<State extends string>(table: Transitions<State>, state: State): boolean {
  return table[state].length === 0;
}

/** @throws AppError `internal` where `to` cannot follow `from`. */
export function requireTransition<State extends string>(table: Transitions<State>, from: State, to: State): State {
  if (table[from].includes(to)) return to;
  throw new AppError('internal', `state '${to}' cannot follow state '${from}'`);
}

/** In Ironic's words. */
export type AllocationState = 'allocating' | 'active' | 'error';

/** An allocation that has its node, or has failed, ends by being deleted. */
export const allocationStates = {
  allocating: ['active', 'error'],
  active: [],
  error: [],
} as const satisfies Transitions<AllocationState>;

export type DeliveryState = 'pending' | 'delivered' | 'given up';

/** A delivery that failed is `pending` again until its time is over. */
export const deliveryStates = {
  pending: ['pending', 'delivered', 'given up'],
  delivered: [],
  'given up': [],
} as const satisfies Transitions<DeliveryState>;
