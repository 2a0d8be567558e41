import type { FlowView, PlanView } from '#conductor/api/flows.ts';
import { renderPlan } from '#conductor/cli/nodes/deploy-commands.ts';
import { formatDuration } from '#conductor/cli/shell/format-units.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { buildCustomRamdisk } from '#test/lab/custom-ramdisk.ts';
import { deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { customSteps, deployOntoRaid1, raid1Disks } from '#test/lab/deploy-onto-raid1.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabOptions, startLab } from '#test/lab/lab.ts';
import { type DemoImage, readDemoImage } from '#test/lab/operator.ts';
import { type LabCommand, labUsage, parseLabCommand } from '#test/lab/options.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';
import { proveTrust } from '#test/lab/proofs/prove-trust.ts';
import { redeployAndProve, redeployLab } from '#test/lab/redeploy/redeploy-and-prove.ts';
import { openScreen, type Screen } from '#test/lab/screen.ts';
import { buildSignedImage } from '#test/lab/signed-image.ts';
import { deploySite, type SiteProofs, siteLab } from '#test/lab/site/deploy-site.ts';

/** `npm run lab`: from nothing to proven deploys. Exit code 0 when every proof holds, 1 otherwise, 2 for bad flags. */
async function main(): Promise<number> {
  const command = readCommand();
  if (typeof command === 'number') return command;
  const interrupted = new AbortController();
  // a second Ctrl-C does not cut the cleaning up short
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new AppError('aborted', `stopped by ${signal}`)));
  }
  const startedMs = performance.now();
  const screen = openScreen(process.stdout, startedMs);
  try {
    const report = (line: string): void => screen.line(line);
    const image = await readDemoImage(command.secureBoot && (await buildSignedImage(report)));
    const { options, work } = await prepareWork(command, screen, image);
    const lab = await startLab(options);
    try {
      const reports = await orInterrupted(work(lab), interrupted.signal);
      screen.close();
      process.stdout.write(summary(reports, performance.now() - startedMs));
      if (command.keep) {
        // the trials without a disk have left it off
        if (command.raid1) for (const { machine } of lab.nodes) await machine.setPower('on');
        process.stdout.write(howToDrive(lab));
        await untilInterrupted(interrupted.signal);
      }
      return reports.every((report) => report.proofs.every((proof) => proof.holds)) ? 0 : 1;
    } catch (error) {
      screen.close();
      if (!interrupted.signal.aborted) process.stderr.write(`\n${labDiagnostics(lab)}\n`);
      throw error;
    } finally {
      screen.line('cleaning up');
      await lab.close();
    }
  } catch (error) {
    process.stderr.write(`lab: ${errorChain(error)}\n`);
    return interrupted.signal.aborted ? 130 : 1;
  } finally {
    screen.close();
  }
}

interface Work {
  readonly options: LabOptions;
  readonly work: (lab: Lab) => Promise<Report[]>;
}

async function prepareWork(command: LabCommand, screen: Screen, image: DemoImage): Promise<Work> {
  const report = (line: string): void => screen.line(line);
  const { firmware, bmc, switch: plugged } = command;
  const hooks = { report, show: (line: string): void => screen.line(`  ${line}`), onTerminal: process.stdout.isTTY };
  const reportsOf = (proofs: readonly SiteProofs[]): Report[] =>
    proofs.map(({ subject, proofs }) => ({ heading: subject, proofs }));
  if (command.redeploy) {
    const { options, cluster } = redeployLab({ firmware, bmc });
    const work = async (lab: Lab): Promise<Report[]> =>
      reportsOf(await redeployAndProve(lab, image, { ...hooks, cluster: await cluster }));
    return { options: { ...options, report }, work };
  }
  if (command.site) {
    const work = async (lab: Lab): Promise<Report[]> => reportsOf((await deploySite(lab, image, hooks)).proofs);
    return { options: { ...siteLab({ firmware, bmc }), switch: plugged, report }, work };
  }
  const { secureBoot, tpm } = command;
  const machine = {
    firmware,
    bmc,
    boot: command.boot,
    tpm,
    ...(secureBoot ? { secureBoot } : {}),
    ...(command.raid1 ? { disks: raid1Disks } : {}),
  };
  const options = {
    nodes: Array.from({ length: command.nodes }, () => machine),
    switch: plugged,
    report,
    ...(secureBoot ? { imagesDirectory: await buildSignedImage(report) } : {}),
    ...(tpm ? { conductorSettings: { BATON_ATTESTATION: 'require' } } : {}),
    ...(command.raid1 ? { ramdiskDirectory: await buildCustomRamdisk('ramdisk-raid1', [customSteps], report) } : {}),
  };
  return { options, work: (lab) => deployAll(lab, image, { command, screen }) };
}

/** Report of what was proved of a machine, or of an action. */
interface Report {
  readonly heading: string;
  readonly proofs: readonly Proof[];
}

function deployAll(
  lab: Lab,
  image: DemoImage,
  { command, screen }: { readonly command: LabCommand; readonly screen: Screen },
): Promise<Report[]> {
  return Promise.all(
    lab.nodes.map(async (node) => {
      const hooks = {
        onFlow: (flow: FlowView): void => screen.flow(node.name, flow),
        report: (line: string): void => screen.line(line),
      };
      const onPlan = (plan: PlanView): void => screen.line(`${node.name}: the plan\n\n${renderPlan(plan)}`);
      const { activeAfterMs, beaconAfterMs, flow, ...deployed } = command.raid1
        ? await deployOntoRaid1(lab, node, image, { ...hooks, onPlan })
        : await deployAndProve(lab, node, image, hooks);
      const proofs = [...deployed.proofs, ...(command.tpm ? await proveTrust(lab, node, flow) : [])];
      const times = `active after ${formatDuration(activeAfterMs)}, beacon after ${formatDuration(beaconAfterMs)}`;
      return { heading: `${node.name}: ${times}`, proofs };
    }),
  );
}

function readCommand(): LabCommand | number {
  try {
    const command = parseLabCommand(process.argv.slice(2));
    if (!command.help) return command;
    process.stdout.write(`${labUsage}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`lab: ${errorChain(error)}\n\n${labUsage}\n`);
    return 2;
  }
}

/** The work's outcome, or the signal's reason as soon as it fires; the work itself ends when its lab is closed. */
function orInterrupted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = untilInterrupted(signal).then((): never => {
    throw signal.reason as Error;
  });
  // when the lab is closed under it, the work fails after this race is over: nobody needs to hear of that
  work.catch(() => undefined);
  return Promise.race([work, stopped]);
}

function untilInterrupted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function summary(reports: readonly Report[], totalMs: number): string {
  const lines = reports.flatMap((report) => [
    '',
    report.heading,
    ...report.proofs.map((proof) => `  ${proof.holds ? '✓' : '✗'} ${proof.what}: ${proof.seen}`),
  ]);
  const failed = reports.flatMap((report) => report.proofs).filter((proof) => !proof.holds).length;
  const verdict = failed === 0 ? 'every proof holds' : `${failed} proofs do NOT hold`;
  return `${[...lines, '', `${verdict}; whole run ${formatDuration(totalMs)}`].join('\n')}\n`;
}

function howToDrive(lab: Lab): string {
  const inside = `ip netns exec ${lab.directory.namespace}`;
  const baremetal = `${inside} baremetal --os-auth-type none --os-endpoint ${lab.conductor.url}`;
  return `
The lab stays up until Ctrl-C. In another terminal:
  ${baremetal} node list
  ${baremetal} node show ${lab.nodes[0]?.name}
  ${baremetal} node undeploy ${lab.nodes[0]?.name}
Consoles, logs and disks: ${lab.directory.path}
`;
}

process.exitCode = await main();
