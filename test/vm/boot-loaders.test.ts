import { copyFile, mkdir, mkdtemp, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { partitionsIn, readDiskTable } from '#agent/storage/sfdisk.ts';
import { type FakeConductor, fakeToken, startFakeConductor } from '#agent/testing/fake-conductor.ts';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { CommandResult, Heartbeat } from '#shared/wire/agent-calls.ts';
import { tcgCpu } from '#test/lab/qemu-arguments.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { makeBtrfs } from '#test/support/btrfs-subvolume.ts';
import { freePort } from '#test/support/free-port.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';

/**
 * The ramdisk under OVMF beside a disk as images really are: the demo's system, whose EFI system partition has no more than
 * EFI/debian/grubx64.efi; a root file system that GRUB can't read, and one in a subvolume of btrfs. The machine's clock is in the
 * year 2000.
 */

const mib = 1024 * 1024;
const rootUuid = 'b2a70000-0000-4000-8000-0000000000aa';
const btrfsUuid = 'b2a70000-0000-4000-8000-0000000000bb';
const rootfsUuid = 'b2a70000-0000-4000-8000-0000000000cc';
const ovmf = '/usr/share/OVMF';

const variables = '/sys/firmware/efi/efivars';
/** Few large variables, then ever smaller ones, until the firmware takes none; it gets their room back at a restart only. */
const fillStore = [
  'i=0; for size in 30000 4096 1024 256 32; do printf "\\007\\0\\0\\0" >/tmp/f; head -c $size /dev/zero >>/tmp/f',
  `while i=$((i+1)); dd if=/tmp/f of=${variables}/fill$i-cfc8fc79-be2e-4ddc-97f0-9f98bfe298a0 bs=64k count=1 2>&1; do :; done`,
  'done',
].join('; ');

let directory: string;
let disk: string;
let conductor: FakeConductor;
let dispatcher: Agent;
let machine: RunningProcess | undefined;
let agentPort: number;
let sendLine: (command: string) => Promise<string>;

const serial = (): Promise<string> => readFile(join(directory, 'serial.log'), 'latin1');

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-boot-loaders-'));
  disk = join(directory, 'disk.raw');
  await makeDisk();
  await copyFile(`${ovmf}/OVMF_VARS_4M.fd`, join(directory, 'variables.fd'));
  conductor = await startFakeConductor();
  agentPort = await freePort();
  const api = `http://10.0.2.2:${new URL(conductor.url).port}`;
  const kernel = ['-kernel', 'build/ramdisk/vmlinuz', '-initrd', 'build/ramdisk/initrd.img'];
  const asked = ['-append', `console=ttyS0,115200 ipa-api-url=${api}`];
  machine = boot([...kernel, ...asked, '-rtc', 'base=2000-01-01T00:00:00']);
  const [seen] = await conductor.requests(/heartbeat/, 1);
  const beat = Heartbeat.parse(seen?.body);
  const pinned = { ca: beat.agent_verify_ca ?? '', checkServerIdentity: () => undefined }; // it is 10.0.2.15's
  dispatcher = new Agent({ connect: pinned, headersTimeout: 0 });
  sendLine = await openShell();
});

afterAll(async () => {
  await stop();
  await dispatcher?.destroy();
  await conductor?.close();
  if (directory) await rm(directory, { recursive: true });
});

async function makeDisk(): Promise<void> {
  await copyFile('build/os-image/demo.raw', disk);
  await truncate(disk, 5 * 1024 * mib);
  await run('sgdisk', [
    '--move-second-header',
    '--new',
    '9:0:+64M',
    '--new',
    '10:0:+160M',
    '--new',
    '11:0:+160M',
    disk,
  ]);
  const partitions = partitionsIn(await readDiskTable(run, disk), disk);
  const startOf = (wanted: (partition: (typeof partitions)[number]) => boolean) =>
    partitions.find(wanted)?.startBytes ?? 0;
  const esp = `${disk}@@${startOf(({ type }) => type.startsWith('c12a7328'))}`;
  await run('mdeltree', ['-i', esp, '::EFI/BOOT']);
  await run('mdel', ['-i', esp, '::EFI/debian/BOOTX64.CSV']);
  const [tree, root] = [join(directory, 'tree'), join(directory, 'root.img')];
  for (const name of ['boot', 'etc']) await mkdir(join(tree, name), { recursive: true });
  await writeFile(join(tree, 'etc/os-release'), 'ID=test\n');
  for (const name of ['vmlinuz-6.1', 'initrd.img-6.1']) await writeFile(join(tree, 'boot', name), name);
  await run('mkfs.ext4', ['-q', '-F', '-U', rootUuid, '-O', 'inline_data', '-d', tree, root, '64M']);
  await using handle = await open(disk, 'r+');
  await handle.write(
    await readFile(root),
    0,
    undefined,
    startOf(({ number }) => number === 9),
  );
  const systems = [
    { number: 10, uuid: btrfsUuid },
    { number: 11, uuid: rootfsUuid, subvolumes: ['@rootfs'], byDefault: null },
  ];
  for (const { number: wanted, ...options } of systems) {
    await withLoopDevice(join(directory, 'btrfs.img'), 160 * mib, async (device) => {
      await makeBtrfs(device, tree, options);
      const at = startOf(({ number }) => number === wanted) / mib;
      await run('dd', [`if=${device}`, `of=${disk}`, 'bs=1M', `seek=${at}`, 'conv=notrunc,fsync']);
    });
  }
}

function boot(how: readonly string[]): RunningProcess {
  const parts = [
    ['-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', tcgCpu, '-smp', '2', '-m', '1024'],
    ['-nodefaults', '-display', 'none', '-no-reboot', ...how],
    ['-drive', `if=pflash,unit=0,format=raw,readonly=on,file=${ovmf}/OVMF_CODE_4M.fd`],
    ['-drive', `if=pflash,unit=1,format=raw,file=${join(directory, 'variables.fd')}`],
    ['-drive', `if=none,id=disk,format=raw,file=${disk}`, '-device', 'virtio-blk-pci,drive=disk'],
    ['-chardev', `file,id=serial,append=on,path=${join(directory, 'serial.log')}`, '-serial', 'chardev:serial'],
    ['-netdev', `user,id=net0,hostfwd=tcp:127.0.0.1:${agentPort}-:9999`],
    ['-device', 'virtio-net-pci,netdev=net0,romfile='],
  ];
  const started = start('qemu-system-x86_64', parts.flat());
  started.stderr.pipe(process.stderr);
  return started;
}

async function stop(): Promise<void> {
  machine?.kill('SIGKILL');
  await machine?.exited;
}

/** Answers what a command in the ramdisk's shell prints. */
async function openShell(): Promise<typeof sendLine> {
  const query = `agent_token=${fakeToken}&columns=200&rows=50`;
  const socket = new WebSocket(`wss://127.0.0.1:${agentPort}/v1/console?${query}`, { rejectUnauthorized: false });
  const seen = { screen: '', commands: 0 };
  socket.on('message', (data) => {
    seen.screen += (data as Buffer).toString();
  });
  await waitUntil('the shell', async () => /ramdisk:~# /.test(seen.screen) || undefined);
  return async (command) => {
    seen.commands += 1;
    const [from, to] = [`begin-${seen.commands}`, `end-${seen.commands}`];
    // as variables: the terminal echoes what is typed
    socket.send(Buffer.from(`n=${seen.commands}; echo begin-$n; ${command}; echo end-$n\r`));
    const whole = new RegExp(`\\r\\n${from}\\r\\n([\\s\\S]*)${to}\\r\\n`);
    return waitUntil(command, async () => whole.exec(seen.screen)?.[1], { timeoutMs: 1_200_000 });
  };
}

async function installBootloader(params: object = {}): Promise<CommandResult> {
  const answer = await request(`https://127.0.0.1:${agentPort}/v1/commands/?agent_token=${fakeToken}&wait=true`, {
    method: 'POST',
    dispatcher,
    body: JSON.stringify({ name: 'image.install_bootloader', params: { target_boot_mode: 'uefi', ...params } }),
  });
  return CommandResult.parse(await answer.body.json());
}

test('the clock is no earlier than the kernel that runs', async () => {
  expect(await serial()).toMatch(
    /the clock said 2000-01-01T\S+, set to 20[2-9]\d-\S+ by the kernel, which was built then/,
  );
});

test('a loader of the distribution alone is found; entries of systems that are gone make room for it', async () => {
  const gone = 'efibootmgr -q -c -d /dev/vda -p 2 -L gone -l "\\\\EFI\\\\gone\\\\shimx64.efi"';
  await sendLine(
    `p=$(blkid -p -o value -s PART_ENTRY_NUMBER $(blkid -t TYPE=vfat -o device)); ${gone.replace('-p 2', '-p $p')}; efibootmgr | grep gone`,
  );
  expect(await installBootloader()).toMatchObject({ command_status: 'SUCCEEDED', command_result: null });
  const listed = await sendLine('efibootmgr -v');
  expect(listed).toMatch(
    /ironic1\s+HD\(\d+,GPT,[-0-9a-f]+,0x[0-9a-f]+,0x[0-9a-f]+\)\/File\(\\EFI\\debian\\grubx64.efi\)/,
  );
  expect(listed).not.toContain('gone');
  expect(listed).toContain('UiApp');
  await copyFile(join(directory, 'variables.fd'), join(directory, 'installed.fd'));
});

test('a whole-disk image whose loader would not find its kernel is refused', async () => {
  const inRoot = (command: string) =>
    sendLine(`mount /dev/vda3 /mnt; cd /mnt/boot; ${command}; cd /; umount /mnt; sync`);
  expect(await inRoot('ls; for each in vmlinuz-*; do mv $each away-$each; done')).toContain('vmlinuz-');
  onTestFinished(async () => {
    await inRoot('for each in away-*; do mv $each ${each#away-}; done');
  });
  const answer = await installBootloader();
  expect(answer.command_status).toBe('FAILED');
  // a link of Debian's to the newest
  expect(answer.command_error?.details).toBe(
    'the image does not boot: GRUB would start "Debian": the image has no file /vmlinuz',
  );
});

test('a full variable store: the old entry stays; without it no success but by a removable path, with a warning', async () => {
  const onEsp = (command: string) => sendLine(`mount $(blkid -t TYPE=vfat -o device) /mnt; ${command}; umount /mnt`);
  onTestFinished(async () => {
    await onEsp('rm -rf /mnt/EFI/BOOT; sync');
  });
  expect(await sendLine(fillStore)).toContain('No space left');
  const byOld = expect.stringMatching(/took no boot entry for ironic1 .*by the old entry \w+, which starts the same/);
  expect(await installBootloader()).toMatchObject({
    command_status: 'SUCCEEDED',
    command_result: { bootloader_result: { warnings: [byOld] } },
  });
  await sendLine(
    "for each in $(efibootmgr | sed -n 's/^Boot\\(....\\).*ironic.*/\\1/p'); do efibootmgr -q -b $each -B; done",
  );
  const refused = await installBootloader();
  expect(refused.command_status).toBe('FAILED');
  expect(refused.command_error?.details).toMatch(/took no boot entry for ironic1 .*the step clean_uefi_nvram removes/);

  await onEsp('mkdir /mnt/EFI/BOOT; cp /mnt/EFI/debian/grubx64.efi /mnt/EFI/BOOT/BOOTX64.EFI');
  const warning = expect.stringMatching(/took no boot entry for ironic[12] .*it has to boot by the removable path/);
  expect(await installBootloader()).toMatchObject({
    command_status: 'SUCCEEDED',
    command_result: { bootloader_result: { warnings: [warning, warning] } },
  });
  expect(await sendLine('efibootmgr')).not.toContain('ironic1');
});

test('a root file system that GRUB can not read is refused by its feature', async () => {
  const answer = await installBootloader({ root_uuid: rootUuid });
  expect(answer.command_status).toBe('FAILED');
  expect(answer.command_error?.details).toMatch(
    /GRUB can't read \/boot\/grub\/grub.cfg on \/dev\/vda9, so the machine would not boot: .* GRUB does not know inline_data: /,
  );
});

test('a root file system on btrfs gets its files, and GRUB reads them inside its default subvolume', async () => {
  expect(await installBootloader({ root_uuid: btrfsUuid })).toMatchObject({ command_status: 'SUCCEEDED' });
  const seen = await sendLine(
    `mount UUID=${btrfsUuid} /mnt; grep " /mnt " /proc/self/mountinfo; cat /mnt/boot/grub/grub.cfg; umount /mnt`,
  );
  expect(seen).toMatch(/ \/@ \/mnt .* - btrfs \/dev\/vda10 /);
  expect(seen).toContain(`linux /@/boot/vmlinuz-6.1 root=UUID=${btrfsUuid} ro`);
  expect(seen).toContain('initrd /@/boot/initrd.img-6.1');
});

test('one in a subvolume that is not the default gets them there, and its kernel is given it', async () => {
  expect(await installBootloader({ root_uuid: rootfsUuid })).toMatchObject({ command_status: 'SUCCEEDED' });
  const seen = await sendLine(
    `mount UUID=${rootfsUuid} /mnt; ls /mnt; cat /mnt/@rootfs/boot/grub/grub.cfg; ls /mnt/@rootfs/boot/grub; umount /mnt`,
  );
  expect(seen).toMatch(/^@rootfs\r?\n/);
  expect(seen).toContain(`linux /@rootfs/boot/vmlinuz-6.1 root=UUID=${rootfsUuid} ro rootflags=subvol=@rootfs`);
  expect(seen).toContain('initrd /@rootfs/boot/initrd.img-6.1');
  expect(seen).toContain('x86_64-efi');
});

test('the firmware starts that loader by its entry', async () => {
  await stop();
  await copyFile(join(directory, 'installed.fd'), join(directory, 'variables.fd'));
  const before = (await serial()).length;
  machine = boot([]);
  const started = async () => (await serial()).slice(before);
  await expect
    .poll(started)
    .toMatch(/BdsDxe: starting Boot\w+ "ironic1" from HD\(.*\\EFI\\debian\\grubx64.efi[\s\S]*Linux version/);
});
