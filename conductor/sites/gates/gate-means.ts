import type { Agent } from 'undici';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';

/** Means that gates are asked with: they lead no further than the rules let them. */
export interface GateMeans {
  readonly rules: OutboundRules;
  /** Dispatcher of the rules (`outboundAgent`). */
  readonly agent: Agent;
  readonly signal: AbortSignal;
  /** Milliseconds until it must have answered; absent = as for every instance. */
  readonly limitMs?: number;
}
