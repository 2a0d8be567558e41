import { expect, test } from 'vitest';
import { type ConsoleOccasion, whyOver } from '#conductor/agents/agent-console.ts';

const session = (boot: number) => ({
  nodeUuid: 'n',
  token: 'sealed',
  callbackUrl: 'https://192.0.2.1:9999',
  certificate: 'PEM',
  version: '1',
  createdAt: new Date(boot),
  lastHeartbeatAt: null,
  bootMac: null,
  bootSource: null,
  served: null,
  attestation: null,
});
const at = (flowUuid?: string, step?: string, boot = 1): ConsoleOccasion => ({
  session: session(boot),
  flowUuid,
  stepUuid: step,
  stepName: step && `deploy.${step}`,
});

test.each([
  ['nothing happens', at(), at(), undefined],
  ['the same step goes on', at('f', 'a'), at('f', 'a'), undefined],
  ['a flow rests between two steps', at('f'), at('f'), undefined],
  ['the next step begins', at('f', 'a'), at('f', 'b'), 'step deploy.b begins'],
  ['a held flow goes on', at('f'), at('f', 'b'), 'step deploy.b begins'],
  ['the step ends', at('f', 'a'), at('f'), 'step deploy.a has ended'],
  ['the flow ends', at('f', 'a'), at(), 'the flow has ended'],
  ['another flow begins', at('f', 'a'), at('g', 'a'), 'a flow begins'],
  ['a flow begins on a resting node', at(), at('g'), 'a flow begins'],
  [
    'the machine is switched off',
    at('f', 'a'),
    { ...at('f', 'a'), session: undefined },
    'the machine leaves the ramdisk',
  ],
  ['the ramdisk boots again', at('f', 'a'), at('f', 'a', 2), 'the machine has rebooted'],
] as const)('%s', (_, opened, now, why) => expect(whyOver(opened, now)).toBe(why));
