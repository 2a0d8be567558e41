import type { askGate } from '#conductor/sites/gates/ask-gate.ts';
import { type GateWatch, type GateWatchOptions, watchGates } from '#conductor/sites/gates/watch-gates.ts';
import { type OutboundRules, outboundAgent } from '#shared/peers/outbound-url.ts';

interface GatesOptions extends Pick<GateWatchOptions, 'now' | 'changed'> {
  readonly rules: OutboundRules;
  readonly ask: typeof askGate;
}

/** Watches the health gates of an action over connections of its own, which `stop` closes. */
export function openGates({ rules, ask, ...options }: GatesOptions): GateWatch {
  const agent = outboundAgent(rules, { keepAliveTimeout: 10_000, connect: { timeout: 5_000 } });
  const watch = watchGates({ ask: (question, signal) => ask(question, { rules, agent, signal }), ...options });
  return {
    look: (asked) => watch.look(asked),
    stop: async () => {
      await watch.stop();
      await agent.destroy();
    },
  };
}
