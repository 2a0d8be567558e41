import type { Transitions } from '#conductor/model/transitions.ts';

export type DeliveryState = 'pending' | 'delivered' | 'given up';

/** A delivery that failed is `pending` again until its time is over. */
export const deliveryStates = {
  pending: ['pending', 'delivered', 'given up'],
  delivered: [],
  'given up': [],
} as const satisfies Transitions<DeliveryState>;
