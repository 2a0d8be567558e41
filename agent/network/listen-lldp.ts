import { z } from 'zod';
import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import type { Run, start } from '#shared/process/run.ts';
import type { LldpTlv } from '#shared/wire/inventory.ts';

const etherType = 0x88cc;
const headerBytes = 14;
const endOfFrame = 0;

/**
 * The TLVs of an Ethernet frame with LLDP (IEEE 802.1AB-2016 §8), without the one that ends it; `undefined` when it is
 * another frame, or cut off in the middle of one. What is behind the end is padding.
 */
export function parseLldpFrame(frame: Buffer): readonly LldpTlv[] | undefined {
  if (frame.length < headerBytes + 2 || frame.readUInt16BE(12) !== etherType) return undefined;
  const tlvs: LldpTlv[] = [];
  for (let at = headerBytes; at + 2 <= frame.length; ) {
    const header = frame.readUInt16BE(at);
    const [type, length] = [header >> 9, header & 0x1ff];
    at += 2;
    if (type === endOfFrame) return tlvs;
    if (at + length > frame.length) return undefined;
    tlvs.push([type, frame.toString('hex', at, at + length)]);
    at += length;
  }
  return tlvs;
}

/** NIC name → what the switch at its other end says. */
export type LldpByNic = ReadonlyMap<string, readonly LldpTlv[]>;

export interface LldpListener {
  readonly run: Run;
  readonly start: typeof start;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends listening early. */
  readonly signal: AbortSignal;
  /** NICs whose firmware keeps LLDP to itself are set to pass it on, which they do until they are set back. */
  readonly wakesFirmware: boolean;
  /** Called as soon as a NIC has heard its switch. */
  readonly onHeard: (nic: string, tlvs: readonly LldpTlv[]) => void;
}

export interface ListeningNic {
  readonly name: string;
  /** `ixgbe`, `i40e` … */
  readonly driver: string | null;
}

/**
 * Listens for LLDP on NICs that are up until each has heard its switch, `timeoutMs` at most (switches speak every
 * 30 s). Never rejects: a NIC that can't be listened on has heard nothing, and the log says why.
 */
export async function listenForLldp(
  nics: readonly ListeningNic[],
  timeoutMs: number,
  listener: LldpListener,
): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([listener.signal, ended.signal]);
  const end = (): void => ended.abort(new Error('listened long enough'));
  const timer = listener.clock.sleep(timeoutMs, signal).then(end, end);
  await Promise.all(nics.map((nic, index) => listenOn(nic, `lldp${index}`, { ...listener, signal })));
  end();
  await timer;
}

/** Where LLDP is sent to: nearest bridge, nearest non-TPMR bridge, nearest customer bridge (802.1AB-2016 §7.1). */
const groups = ['01:80:c2:00:00:0e', '01:80:c2:00:00:03', '01:80:c2:00:00:00'] as const;

/**
 * Node has no raw sockets. A macvtap device on top of the NIC gives its multicast frames as a character device, which
 * any program can read; the NIC itself goes on as before.
 */
async function listenOn(nic: ListeningNic, tap: string, listener: LldpListener): Promise<void> {
  const { run, log } = listener;
  const removeTap = () => run('ip', ['link', 'delete', 'dev', tap], { okExitCodes: [0, 1], timeoutMs: 5000 });
  try {
    if (listener.wakesFirmware) await wakeFirmware(nic, listener);
    await removeTap(); // what an agent before us left
    await run('ip', ['link', 'add', 'link', nic.name, 'name', tap, 'type', 'macvtap', 'mode', 'bridge']);
    for (const group of groups) await run('ip', ['maddress', 'add', group, 'dev', tap]);
    await run('ip', ['link', 'set', tap, 'up']);
    const { stdout } = await run('ip', ['-json', 'link', 'show', 'dev', tap]);
    const [link] = z.array(z.looseObject({ ifindex: z.number() })).parse(JSON.parse(stdout));
    const tlvs = await readTap(`/dev/tap${link?.ifindex}`, listener);
    log.info({ nic: nic.name, heard: tlvs !== undefined }, 'listened for LLDP');
    if (tlvs) listener.onHeard(nic.name, tlvs);
  } catch (error) {
    if (!listener.signal.aborted) log.warn({ err: error, nic: nic.name }, 'could not listen for LLDP');
  } finally {
    await removeTap().catch((error: unknown) => log.warn({ err: error, tap }, 'tap device not removed'));
  }
}

const blockBytes = 2048;
/** Stands before each frame: `struct virtio_net_hdr`. */
const tapHeaderBytes = 10;

async function readTap(device: string, { start, signal }: LldpListener): Promise<readonly LldpTlv[] | undefined> {
  // one read is one frame, and conv=sync fills it up: blocks of one length, so that frames can be told apart in a pipe
  const dd = start('dd', [`if=${device}`, `bs=${blockBytes}`, 'conv=sync'], { signal });
  let pending = Buffer.alloc(0);
  try {
    for await (const chunk of dd.stdout as AsyncIterable<Buffer>) {
      pending = Buffer.concat([pending, chunk]);
      for (; pending.length >= blockBytes; pending = pending.subarray(blockBytes)) {
        const tlvs = parseLldpFrame(pending.subarray(tapHeaderBytes, blockBytes));
        if (tlvs) return tlvs;
      }
    }
    await dd.exited; // ended by itself or by the signal: rejects
    return undefined;
  } finally {
    dd.kill('SIGKILL');
    await dd.exited.catch(() => undefined); // the device must be closed before it is removed
  }
}

/** NICs whose firmware keeps LLDP to itself, and the private flag that has it pass it on. */
const firmwareFlags: Readonly<Record<string, readonly [flag: string, value: 'on' | 'off']>> = {
  i40e: ['disable-fw-lldp', 'on'],
  ice: ['fw-lldp-agent', 'off'],
};

async function wakeFirmware({ name, driver }: ListeningNic, { run, log }: LldpListener): Promise<void> {
  const flag = firmwareFlags[driver ?? ''];
  if (!flag) return;
  try {
    await run('ethtool', ['--set-priv-flags', name, ...flag], { timeoutMs: 10_000 });
  } catch (error) {
    // firmware that is too old for the flag may pass LLDP on all the same
    log.info({ err: error, nic: name }, "the NIC's firmware keeps its LLDP agent");
  }
}
