import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadScriptFile } from '#agent/custom/load-script-file.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { silentLog } from '#shared/log.ts';
import { type Run, run } from '#shared/process/run.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';

/** docs/custom-steps.md's worked example, with directories for partitions: mounting copies them there and back. */

const programs = {
  lsblk: 'for disk; do :; done; for each in "$disk"/p*; do echo "$each"; done',
  blkid: 'echo ext4',
  mount: 'cp -a "$1/." "$2/" && echo "$1" > "$2.source"',
  umount: '[ -e "$1.source" ] && cp -a "$1/." "$(cat "$1.source")/" && rm -r "$1"/* "$1.source"',
  sync: 'true',
};

test('write_motd changes the root file system of the image, and no other', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-motd-'));
  try {
    const bin = join(directory, 'bin');
    await mkdir(bin);
    for (const [name, text] of Object.entries(programs)) {
      await writeFile(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    }
    const disk = join(directory, 'disk');
    await mkdir(join(disk, 'p1/EFI'), { recursive: true });
    await mkdir(join(disk, 'p2/etc'), { recursive: true });
    await writeFile(join(disk, 'p2/etc/os-release'), 'ID=debian\n');
    const inDirectory: Run = (command, args, options = {}) =>
      run(command, args, {
        ...options,
        env: { ...options.env, PATH: `${bin}:/usr/bin:/bin`, TMPDIR: directory },
      });

    const manager = await loadScriptFile(join(import.meta.dirname, 'example/steps.d'), 'motd.yaml', inDirectory);
    const step = manager.steps[0]!;
    expect(step).toMatchObject({ priorities: { deploy: 70 }, interface: 'deploy', step: 'write_motd' });
    const phases: string[] = [];
    const context = {
      run: inDirectory,
      clock: createInstantClock(),
      log: silentLog,
      signal: new AbortController().signal,
      node: { uuid: 'the-node', properties: {}, instance_info: {}, driver_internal_info: {} },
      reportProgress: ({ phase }: { phase: string }) => phases.push(phase),
      writtenImage: {
        current: { imageId: 'demo', checksum: '', device: disk, rootUuid: null, headSha256: '' },
      },
    };
    for (const text of ['it\'s "first"', 'second']) {
      expect(await step.run(context, parseStepArgs(step, { text }))).toEqual({
        kind: 'done',
        output: { partition: join(disk, 'p2') },
      });
      expect(await readFile(join(disk, 'p2/etc/motd'), 'utf8')).toBe(`${text}\n`);
    }
    expect(phases).toHaveLength(2);
    context.writtenImage.current.device = '';
    await expect(step.run(context, parseStepArgs(step, {}))).rejects.toThrow('no image was written');
  } finally {
    await rm(directory, { recursive: true });
  }
});
