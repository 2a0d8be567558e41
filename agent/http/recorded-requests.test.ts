import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import { commandTable } from '#agent/commands/command-table.ts';
import { activateHardware, hardwareManagers } from '#agent/hardware/active-hardware.ts';
import { createApp } from '#agent/http/app.ts';
import { fakeServices } from '#agent/testing/fake-services.ts';
import { silentLog } from '#shared/log.ts';

interface Recorded {
  readonly method: string;
  readonly path: string;
  /** Text: as sent, because it is not JSON. */
  readonly body: unknown;
  readonly status: number;
  readonly faultstring?: string;
}

/** Requests of real Ironic 29.0.5 and curl to the real agent 10.2.0, and its answers. */
const recorded = JSON.parse(
  await readFile(new URL('recorded-requests.json', import.meta.url), 'utf8'),
) as readonly Recorded[];

/** Where we do better on purpose: the real agent breaks on unknown parameters, and its parser words things otherwise. */
function expectedAnswer({ status, faultstring }: Recorded): {
  readonly status: number;
  readonly fault?: RegExp | string;
} {
  if (status === 500) return { status: 400, fault: /^Invalid command parameters: .*bogus/ };
  if (faultstring === undefined) return { status };
  const [general] = faultstring.split(': Expecting');
  return { status, fault: general === faultstring ? faultstring : new RegExp(`^${general}`) };
}

describe('recorded requests of a real conductor', () => {
  test('there are some', () => expect(recorded.length).toBeGreaterThan(20));

  test.each(recorded.map((request, index) => [index, request.method, request.path, request] as const))(
    '%i %s %s',
    async (_index, method, path, request) => {
      const hardware = await activateHardware(hardwareManagers);
      const commands = new CommandRunner(commandTable, fakeServices({ hardware }), () => undefined);
      const app = createApp({ commands, token: () => 'TOKEN', startedAt: new Date(), log: silentLog });
      const { body } = request;
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const answer = await app.request(`http://localhost${path}`, { method, ...(body === null ? {} : { body: text }) });
      const expected = expectedAnswer(request);
      expect(answer.status).toBe(expected.status);
      if (expected.fault === undefined) return;
      const { faultstring } = (await answer.json()) as { readonly faultstring: string };
      expect(faultstring).toMatch(expected.fault);
    },
  );
});
