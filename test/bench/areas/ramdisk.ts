import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readManifest } from '#image-build/manifest.ts';
import { buildRamdisk } from '#image-build/ramdisk/build-ramdisk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';
import { type Area, type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { enrollNode, noteInstance, readDemoImage, requestDeploy } from '#test/lab/operator.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

const bootLimitMs = 300_000;

/** The sizes of the ramdisk as it ships, and the time from a machine's power-on to its agent's first heartbeat. */
export const ramdiskArea: Area = {
  name: 'ramdisk',
  measure: async (context) => {
    const output = join(context.folder, 'ramdisk');
    await buildRamdisk({ run, say: context.say, force: false, refresh: false }, { output });
    const manifest = await readManifest(output);
    const shipped = manifest?.outputs.filter(({ name }) => ['vmlinuz', 'initrd.img'].includes(name)) ?? [];
    if (shipped.length !== 2 || manifest?.unpacked_size === undefined) {
      throw new AppError('internal', `the ramdisk in ${output} is not whole`);
    }
    const megabytes = (bytes: number): Figure => ({ value: round(bytes / 1e6), unit: 'MB' });
    return {
      shipped_mb: megabytes(shipped.reduce((sum, { size }) => sum + size, 0)),
      unpacked_mb: megabytes(manifest.unpacked_size),
      boot_to_heartbeat_s: await bootToHeartbeat(context, { firmware: 'uefi', bmc: 'redfish' }),
      boot_to_heartbeat_bios_s: await bootToHeartbeat(context, { firmware: 'bios', bmc: 'redfish' }),
    };
  },
};

/** A deploy up to the agent's first heartbeat, in a lab of its own. */
async function bootToHeartbeat(context: BenchContext, options: LabNodeOptions): Promise<Figure> {
  const lab = await startLab({ nodes: [options] });
  try {
    const [node] = lab.nodes;
    if (!node) throw new AppError('internal', 'the lab has no machine');
    await enrollNode(lab, node);
    let poweredOn = Number.NaN;
    node.machine.onPowerOn(async () => void (poweredOn = performance.now()));
    const image = await readDemoImage();
    const instanceUuid = randomUUID();
    await noteInstance(lab, node, image, instanceUuid);
    await requestDeploy(lab, node, { hostName: 'bench', instanceUuid });
    const accepted = /baton-agent: heartbeat accepted/;
    await waitUntil(
      'the first heartbeat',
      () => accepted.test(readFileSync(node.machine.serialLog, 'latin1')) || undefined,
      { timeoutMs: bootLimitMs, everyMs: 50 },
    );
    const value = round((performance.now() - poweredOn) / 1000);
    context.say(`${options.firmware}, ${lab.accelerator.kind}: first heartbeat ${value} s after power-on`);
    return { value, unit: 's' };
  } finally {
    await lab.close();
  }
}
