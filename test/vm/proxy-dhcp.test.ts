import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { startOthersDhcp } from '#test/lab/dnsmasq.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import { say } from '#test/support/say.ts';

/** UEFI firmware whose addresses come from somebody else's DHCP server, and what it boots from the conductor's beside that. */

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();

beforeAll(async () => {
  const image = await readDemoImage();
  lab = await startLab({
    nodes: [{ name: 'node0', firmware: 'uefi', bmc: 'redfish' }],
    report: say,
    conductorSettings: async (site) => {
      await startOthersDhcp(site);
      return { BATON_DHCP: 'proxy' };
    },
  });
  const running = lab;
  outcomes = await deployOnEach(running, (node, reporting) => deployAndProve(running, node, image, reporting), say);
});
afterAll(() => lab?.close());

test('every proof of a deploy holds', () => {
  const { flow, proofs } = reportOf(outcomes, 'node0');
  expect(flow.state).toBe('succeeded');
  expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
  expect(proofs).toHaveLength(8);
});

test('the other server has given the address', () => {
  const leases = readFileSync(join(lab?.directory.path ?? '', 'others.leases'), 'utf8');
  expect(leases).toContain(lab?.nodes[0]?.machine.mac);
});
