import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import type { FleetView } from '#conductor/api/node-parts.ts';
import { renderFleet } from '#conductor/cli/status-command.ts';
import type { FaultCode } from '#shared/errors/fault-codes.ts';
import { type FailingDeploys, openFailingDeploys } from '#test/support/failing-deploys.ts';
import type { StepNode } from '#test/support/step-node.ts';

/**
 * Faults of a night, each made in the simulated rack: the code, who says it (API, CLI), what to do, and the way out,
 * which the next deploy goes. How long the cause takes to be named is printed, and not judged.
 */

interface Fault {
  readonly happens: string;
  readonly make: (node: StepNode) => void;
  readonly code: FaultCode;
  readonly subject?: string;
  readonly says: RegExp;
}

const failing = (
  situation: 'disk_failing' | 'image_missing' | 'image_checksum' | 'image_too_large',
  subject: string,
) => {
  return ({ machine }: StepNode): void => {
    machine.faults.failStep = { step: 'write_image', message: 'it failed', situation, subject };
  };
};
const always = Number.POSITIVE_INFINITY;

const answering: readonly Fault[] = [
  {
    happens: 'the disk fails',
    make: failing('disk_failing', '/dev/sda'),
    code: 'disk_failing',
    subject: '/dev/sda',
    says: /^The disk is failing .*: replace \/dev\/sda/,
  },
  {
    happens: 'the image is not there',
    make: failing('image_missing', 'http://images/a'),
    code: 'image_missing',
    subject: 'http://images/a',
    says: /^Look at the image \(http:\/\/images\/a\): it is not on its server/,
  },
  {
    happens: 'the checksum is wrong',
    make: failing('image_checksum', 'http://images/a'),
    code: 'image_checksum',
    subject: 'http://images/a',
    says: /Correct the checksum/,
  },
  {
    happens: 'the image is too large',
    make: failing('image_too_large', '/dev/sda'),
    code: 'image_too_large',
    subject: '/dev/sda',
    says: /does not fit on \/dev\/sda/,
  },
  {
    happens: 'the BMC refuses the reset',
    make: ({ machine }) => machine.bmc.inject({ method: 'POST', path: /Reset$/, status: 400, body: {}, times: always }),
    code: 'bmc_refused',
    says: /^The BMC is the cause, it refuses this/,
  },
  {
    happens: 'the BMC refuses the login',
    make: ({ machine }) => machine.bmc.inject({ path: /.*/, status: 401, body: {}, times: always }),
    code: 'bmc_login',
    says: /^The BMC is the cause: it refuses the login/,
  },
];

let deploys: FailingDeploys;

function withSettings(settings: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    deploys = await openFailingDeploys(settings);
  });
  afterAll(() => deploys.node.close());
  beforeEach(() => deploys.node.heal());
}

async function expectNamed({ happens, make, code, subject, says }: Fault): Promise<void> {
  const { node } = deploys;
  await node.rest('available');
  make(node);
  const begun = performance.now();
  await deploys.start();
  const { advice, steps } = await deploys.reported('deploy failed');
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  process.stdout.write(`${happens}: ${code} after ${seconds} s\n`);
  expect(steps.find((each) => each.state === 'failed' && each.phase === 'main')).toMatchObject({
    code,
    subject: subject ?? null,
  });
  expect(advice).toMatch(says);
  expect(advice).toContain('Then `baton rebuild stepper` tries again');
  const { flows } = (await node.operator.call('GET', '/v1/flows')) as { readonly flows: readonly FlowSummaryView[] };
  expect(flows).toEqual([expect.objectContaining({ status: 'failed', code, subject: subject ?? null })]);
  const fleet = (await node.operator.call('GET', '/v1/fleet')) as FleetView;
  const known = new Map(flows.map(({ uuid }) => [uuid, advice]));
  const shown = renderFleet({ fleet, flows, all: false, advice: known }, new Date(), 10_000);
  expect(shown.join('\n')).toContain(`→ ${advice}`);
  node.heal();
}

describe('what answers', () => {
  withSettings({});
  test.each(answering)('$happens: $code', expectNamed);
  test('after all of them the machine is deployed', async () => {
    await deploys.start();
    expect(await deploys.isActive()).toBe(true);
  });
});

describe('what is silent', () => {
  withSettings({ BATON_CALLBACK_TIMEOUT: '10' });
  test('the machine boots nothing: ramdisk_silent', () =>
    expectNamed({
      happens: 'the machine boots nothing',
      make: ({ machine }) => {
        machine.faults.bootsNothing = true;
      },
      code: 'ramdisk_silent',
      says: /look at the machine's console/,
    }));
});
