/** Describes what a machine is made of, and the QEMU command line for it. Pure. */

export type Firmware = 'uefi' | 'bios';
/** Keys that Secure Boot checks by: Microsoft's, as machines are sold with, or the lab's own (Debian's `snakeoil`). */
export type SecureBootKeys = 'microsoft' | 'own';
export type DiskBus = 'virtio' | 'nvme' | 'sata';
/** How machines get the ramdisk. */
export type LabBoot = 'pxe' | 'vmedia' | 'http';
export type BootSource = 'pxe' | 'disk' | 'cdrom';

export interface DiskSpec {
  readonly path: string;
  readonly bus: DiskBus;
  readonly serial: string;
}

/** How a machine's disks differ from all of them plugged in, from the next power-on to the next change. */
export interface DiskTrial {
  /** Places of those pulled, from 0. */
  readonly pulled: readonly number[];
  /** Whether writes are forgotten at power-off: the disks stay as they were for another trial. */
  readonly discardWrites: boolean;
}

export const allDisks: DiskTrial = { pulled: [], discardWrites: false };

export interface QemuMachine {
  readonly name: string;
  /** SMBIOS system UUID. */
  readonly uuid: string;
  readonly firmware: Firmware;
  readonly accelerator: 'kvm' | 'tcg';
  readonly memoryMib: number;
  readonly cpus: number;
  readonly disks: readonly DiskSpec[];
  readonly mac: string;
  /** Whether it loads what it boots over the network by HTTP, by its firmware's own drivers. */
  readonly httpOnly: boolean;
  readonly tap: string;
  /** It is not booted from. */
  readonly secondCard?: { readonly mac: string; readonly tap: string };
  /** UEFI variables, a copy of this machine's own. */
  readonly variables: string;
  /** Absent: Secure Boot is off, and there are no keys. */
  readonly secureBoot?: SecureBootKeys;
  readonly serialLog: string;
  readonly qmpSocket: string;
  /** A TPM 2.0, which is a program of its own: the directory of its state, and the socket by which QEMU speaks to it. */
  readonly tpm?: { readonly state: string; readonly socket: string };
}

/**
 * TCG runs `rep movsb` and `rep stosb` byte by byte. Kernel and libc of a guest that is not told that they are fast copy by
 * larger words, and a boot costs a tenth less.
 */
export const tcgCpu = 'max,-erms,-fsrm';

/**
 * Bytes of a packet on the lab's networks: jumbo frames, since each one passes the userspace switch and an emulated card
 * at the same cost whatever its length. Machines learn it from their card.
 */
export const labMtu = 9000;

const ovmf = '/usr/share/OVMF';
const ovmfCode = `${ovmf}/OVMF_CODE_4M.fd`;
/** Firmware that keeps its variables from the system needs QEMU's system management mode. */
const secureCode = `${ovmf}/OVMF_CODE_4M.secboot.fd`;

/** Path of the UEFI variables that a new machine has. */
export function newVariables(keys: SecureBootKeys | undefined): string {
  return `${ovmf}/OVMF_VARS_4M${keys === undefined ? '' : { microsoft: '.ms', own: '.snakeoil' }[keys]}.fd`;
}

/** The arguments for one power-on that tries `bootOrder` in turn; `cdrom` is what is in its virtual drive. */
export function qemuArguments(
  machine: QemuMachine,
  bootOrder: readonly BootSource[],
  trial: DiskTrial = allDisks,
  cdrom?: string,
): string[] {
  const bootIndex = (source: BootSource): number => bootOrder.indexOf(source) * 10;
  return [
    ['-name', machine.name, '-uuid', machine.uuid],
    // graphics=off: the BIOS and its boot ROMs then write to the serial port
    [
      '-machine',
      `q35,graphics=off${machine.secureBoot ? ',smm=on' : ''}`,
      '-m',
      String(machine.memoryMib),
      '-smp',
      String(machine.cpus),
    ],
    machine.accelerator === 'kvm' ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', 'tcg,thread=multi', '-cpu', tcgCpu],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-vga', 'none'],
    machine.firmware === 'uefi' ? firmwareFiles(machine) : [],
    ['-chardev', `file,id=serial0,path=${machine.serialLog},append=on`, '-serial', 'chardev:serial0'],
    ['-chardev', `socket,id=qmp0,path=${machine.qmpSocket},server=on,wait=off`, '-mon', 'chardev=qmp0,mode=control'],
    ['-netdev', `tap,id=net0,ifname=${machine.tap},script=no,downscript=no,vnet_hdr=off`],
    [
      '-device',
      `virtio-net-pci,netdev=net0,mac=${machine.mac},host_mtu=${labMtu},bootindex=${bootIndex('pxe')}${machine.httpOnly ? ',romfile=' : ''}`,
    ],
    machine.secondCard ? secondCard(machine.secondCard) : [],
    machine.httpOnly ? httpOnly : [],
    ['-device', 'virtio-rng-pci'],
    machine.tpm ? tpmArguments(machine.tpm.socket) : [],
    cdrom === undefined ? [] : cdromArguments(cdrom, bootOrder.includes('cdrom') ? bootIndex('cdrom') : undefined),
    machine.disks.some((disk) => disk.bus === 'sata') ? ['-device', 'ich9-ahci,id=ahci0'] : [],
    ...machine.disks.map((disk, index) =>
      trial.pulled.includes(index)
        ? []
        : diskArguments(disk, { index, bootIndex: bootIndex('disk') + index, discardWrites: trial.discardWrites }),
    ),
    // a reboot ends QEMU, so that the launcher can start it with the boot order that is right then
    ['-action', 'reboot=shutdown'],
  ].flat();
}

/** OVMF without PXE. */
const httpOnly = ['IPv4', 'IPv6'].flatMap((version) => [
  '-fw_cfg',
  `name=opt/org.tianocore/${version}PXESupport,string=n`,
]);

function secondCard({ mac, tap }: NonNullable<QemuMachine['secondCard']>): string[] {
  return [
    // without a speed no card is bonded by LACP
    '-global',
    'virtio-net-pci.speed=10000',
    '-global',
    'virtio-net-pci.duplex=full',
    '-netdev',
    `tap,id=net1,ifname=${tap},script=no,downscript=no,vnet_hdr=off`,
    '-device',
    `virtio-net-pci,netdev=net1,mac=${mac},host_mtu=${labMtu},romfile=`,
  ];
}

/** A TPM at the place where Linux's tpm_tis finds it; OVMF and SeaBIOS measure into it. */
function tpmArguments(socket: string): string[] {
  return [
    '-chardev',
    `socket,id=tpm0,path=${socket}`,
    '-tpmdev',
    'emulator,id=tpm0,chardev=tpm0',
    '-device',
    'tpm-tis,tpmdev=tpm0',
  ];
}

function firmwareFiles({ variables, secureBoot }: Pick<QemuMachine, 'variables' | 'secureBoot'>): string[] {
  return [
    ...(secureBoot ? ['-global', 'driver=cfi.pflash01,property=secure,value=on'] : []),
    '-drive',
    `if=pflash,unit=0,format=raw,readonly=on,file=${secureBoot ? secureCode : ovmfCode}`,
    '-drive',
    `if=pflash,unit=1,format=raw,file=${variables}`,
  ];
}

function cdromArguments(path: string, bootIndex: number | undefined): string[] {
  const drive = `if=none,id=cd0,media=cdrom,readonly=on,format=raw,file=${path}`;
  return ['-drive', drive, '-device', `ide-cd,drive=cd0${bootIndex === undefined ? '' : `,bootindex=${bootIndex}`}`];
}

function diskArguments(
  disk: DiskSpec,
  { index, bootIndex, discardWrites }: { index: number; bootIndex: number; discardWrites: boolean },
): string[] {
  const device = {
    virtio: `virtio-blk-pci,serial=${disk.serial}`,
    nvme: `nvme,serial=${disk.serial}`,
    sata: `ide-hd,bus=ahci0.${index},serial=${disk.serial}`,
  }[disk.bus];
  return [
    '-drive',
    `if=none,id=disk${index},format=raw,cache=unsafe,discard=unmap,file=${disk.path}${discardWrites ? ',snapshot=on' : ''}`,
    '-device',
    `${device},drive=disk${index},bootindex=${bootIndex}`,
  ];
}
