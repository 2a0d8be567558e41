import { afterAll, beforeAll, expect, test } from 'vitest';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import { redeployAndProve, redeployLab } from '#test/lab/redeploy/redeploy-and-prove.ts';
import type { SiteProofs } from '#test/lab/site/deploy-site.ts';
import { say } from '#test/support/say.ts';

/** A machine leaves its clusters and is redeployed, then in turn with a second one, as `npm run lab -- --redeploy` does it. */
let lab: Lab | undefined;
let seen: readonly SiteProofs[] = [];

beforeAll(async () => {
  const image = await readDemoImage();
  const { options, cluster } = redeployLab({ firmware: 'bios', bmc: 'redfish' });
  const running = await startLab({ ...options, report: say });
  lab = running;
  try {
    const hooks = { report: say, show: (line: string) => say(`  ${line}`), cluster: await cluster };
    seen = await redeployAndProve(running, image, hooks);
  } catch (error) {
    say(labDiagnostics(running, 60));
    throw error;
  }
});

afterAll(() => lab?.close());

test('every proof holds: clusters, switch port, disks, the new instance, receipts', () => {
  const proofs = seen.flatMap(({ subject, proofs }) => proofs.map((proof) => ({ subject, ...proof })));
  expect(proofs.filter(({ holds }) => !holds)).toEqual([]);
  // of the first deploy, of each redeploy, of the second machine
  expect(proofs).toHaveLength(1 + 2 * 18 + 3);
});
