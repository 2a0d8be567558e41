import { afterAll, beforeAll, expect, test } from 'vitest';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import { deploySite, type SiteReport, siteLab } from '#test/lab/site/deploy-site.ts';
import { say } from '#test/support/say.ts';

/** A control node and then two workers by documents and two plugins, as `npm run lab -- --site` does it. */
let lab: Lab | undefined;
let site: SiteReport | undefined;

beforeAll(async () => {
  const image = await readDemoImage();
  const running = await startLab({ ...siteLab({ firmware: 'bios', bmc: 'redfish' }), report: say });
  lab = running;
  try {
    site = await deploySite(running, image, { report: say, show: (line) => say(`  ${line}`) });
  } catch (error) {
    say(labDiagnostics(running, 60));
    throw error;
  }
});

afterAll(() => lab?.close());

test('every proof holds: order of the groups, plugins on the disks, identity, network, tags; nothing is done twice', () => {
  const proofs = (site?.proofs ?? []).flatMap(({ subject, proofs }) => proofs.map((proof) => ({ subject, ...proof })));
  expect(proofs.filter(({ holds }) => !holds)).toEqual([]);
  // of the deploy, of three machines, of the update
  expect(proofs).toHaveLength(3 + 3 * 8 + 2);
});
