import { Hono } from 'hono';
import type { BootClient } from '#conductor/agents/agent-session-store.ts';
import { type BootMediumParams, openBootMedium, readsBootSecrets } from '#conductor/boot/boot-medium.ts';
import {
  type BootAnswer,
  firstScript,
  instanceScript,
  joinKernelParams,
  localDiskScript,
  ramdiskScript,
  volumeScript,
} from '#conductor/boot/ipxe-script.ts';
import { macOfAddress } from '#conductor/boot/mac-of-address.ts';
import { ramdiskFiles, secretsArchive } from '#conductor/boot/ramdisk-files.ts';
import { notFound, sendContent, sendFile } from '#conductor/boot/send-file.ts';
import type { HttpBootAnswer } from '#conductor/flows/network/boot-answers.ts';
import { addressOf } from '#conductor/http/doors/admit-strangers.ts';
import type { BootEvent, BootEventName } from '#conductor/model/power-and-boot.ts';
import type { Log } from '#shared/log.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

export interface BootRoutesOptions {
  /** Decides what the machine with this MAC address (lower-case, colons) shall boot. */
  readonly answer: (mac: string) => Promise<BootAnswer>;
  /**
   * Gives what the machine is to know that no one else may, once in a boot; `undefined` = nothing, or not to this one.
   */
  readonly secrets: (client: BootClient) => Promise<readonly string[] | undefined>;
  /** Decides what firmware that asks for iPXE by HTTP is to get. */
  readonly httpBoot: (client: BootClient) => Promise<HttpBootAnswer>;
  /** The kernel parameters on the CD of one boot, or `undefined` where there is none. */
  readonly mediumParams: (of: {
    readonly path: string;
    readonly nodeUuid: string;
  }) => Promise<BootMediumParams | undefined>;
  /** Holds `vmlinuz`, `initrd.img` and the boot medium. */
  readonly ramdiskDirectory: string;
  /** Everything in it is served below `/images/`. */
  readonly imagesDirectory: string;
  /** Holds `snponly.efi` and `undionly.kpxe`. */
  readonly ipxeDirectory: string;
  /** Scheme, host and port under which machines reach this server. */
  readonly publicUrl: string;
  /** The API that agents call; default `publicUrl`. */
  readonly agentApi?: { readonly url: string; readonly isInsecure: boolean };
  readonly kernelParams: string;
  /** Whether machines of unknown MAC address boot the ramdisk. */
  readonly discovery: boolean;
  readonly log: Log;
  /** Called with what the machine with this MAC address has fetched. */
  readonly onFetched?: (mac: string, event: BootEvent) => void;
}

const ipxeFiles: readonly string[] = ['snponly.efi', 'undionly.kpxe', 'ipxe.efi', 'ipxe-arm64.efi'];

/** By it firmware knows that it is to boot what is in the image (UEFI 2.10 §24.7.2). */
const isoType = 'application/vnd.efi-iso';

/** The script has machines say who they are as they fetch these. */
const fileEvents: Readonly<Record<string, BootEventName>> = { vmlinuz: 'kernel', 'initrd.img': 'initrd' };

/**
 * Mounts what machines fetch while they boot: `/boot/boot.ipxe`, `/boot/node.ipxe?mac=`, the ramdisk, `/media/*` by
 * virtual media, iPXE itself, `/images/*`. Open to everyone on the network, as firmware can't authenticate: nothing
 * secret is served, but the token of a boot to the first who asks.
 * @throws AppError `invalid_argument` at once for a public URL or kernel parameters that can't stand in a script.
 */
export function bootRoutes(options: BootRoutesOptions): Hono {
  const { log } = options;
  const app = new Hono();
  const first = firstScript(options.publicUrl);
  joinKernelParams(options.kernelParams, undefined);

  app.get('/boot/boot.ipxe', () => script(first));

  app.get('/boot/node.ipxe', async (c) => {
    const given = c.req.query('mac') ?? '';
    const mac = parseMacAddress(given);
    if (mac === undefined) {
      return c.text(`mac must be a MAC address such as 52-54-00-12-34-56, and is ${JSON.stringify(given)}\n`, 400);
    }
    const answer = await options.answer(mac);
    log.info({ mac, answer: answer.kind, platform: c.req.query('platform') }, 'boot script asked for');
    options.onFetched?.(mac, { event: 'script', detail: answer.kind });
    const readsSecrets = answer.kind === 'ramdisk' && (await readsBootSecrets(options.ramdiskDirectory));
    return script(nodeScript(answer, { mac, readsSecrets, ...options }));
  });

  app.get('/boot/secrets.img', async (c) => {
    const mac = parseMacAddress(c.req.query('mac') ?? '');
    const secrets = mac === undefined ? undefined : await options.secrets({ mac, source: addressOf(c) });
    if (secrets === undefined) return notFound();
    const headers = { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' };
    return new Response(Uint8Array.from(secretsArchive(secrets)), { headers });
  });

  // fetched by BMCs, in ranges; its name is all the credentials that they have
  app.get('/media/:node/:file', async (c) => {
    const nodeUuid = c.req.param('node');
    const params = await options.mediumParams({ path: c.req.path, nodeUuid });
    if (params === undefined) return notFound();
    const medium = await openBootMedium(options.ramdiskDirectory, params);
    return sendContent(c.req.raw, medium, { name: `the boot medium of node ${nodeUuid}`, log });
  });

  app.get('/boot/snponly.efi', async (c, next) => {
    const source = addressOf(c);
    const mac = parseMacAddress(c.req.query('mac') ?? '') ?? (await macOfAddress(source));
    const answer = mac === undefined ? undefined : await options.httpBoot({ mac, source });
    if (!answer || answer.kind === 'iPXE') return next();
    log.info({ mac, answer: answer.kind }, 'asked for by HTTP boot');
    if (answer.kind === 'local disk') return notFound();
    const medium = await openBootMedium(options.ramdiskDirectory, answer.params);
    const onSent = (bytes: number): void => options.onFetched?.(mac ?? '', { event: 'initrd', bytes });
    return sendContent(c.req.raw, medium, { name: `the ramdisk of ${mac}`, type: isoType, log, onSent });
  });

  const files = [
    ...ramdiskFiles.map((name) => ({ name, directory: options.ramdiskDirectory })),
    ...ipxeFiles.map((name) => ({ name, directory: options.ipxeDirectory })),
  ];
  for (const { name, directory } of files) {
    app.get(`/boot/${name}`, (c) => {
      const event = fileEvents[name];
      const mac = parseMacAddress(c.req.query('mac') ?? '');
      const onSent =
        event && mac !== undefined ? (bytes: number) => options.onFetched?.(mac, { event, bytes }) : undefined;
      return sendFile(c.req.raw, { directory, urlPath: name, log, onSent });
    });
  }
  app.get('/images/*', (c) => {
    const urlPath = new URL(c.req.url).pathname.replace(/^\/images\//, '');
    return sendFile(c.req.raw, { directory: options.imagesDirectory, urlPath, log });
  });
  return app;
}

function nodeScript(
  answer: BootAnswer,
  options: BootRoutesOptions & { readonly mac: string; readonly readsSecrets: boolean },
): string {
  const { publicUrl, agentApi, mac } = options;
  const common = { publicUrl, agentApi, mac, defaultKernelParams: options.kernelParams };
  if (answer.kind === 'ramdisk') {
    return ramdiskScript({
      ...common,
      kernelParams: answer.kernelParams,
      nodeName: answer.nodeName,
      inspects: answer.inspects,
      own: answer.own,
      globalRequestId: answer.globalRequestId,
      fetchesToken: answer.fetchesToken && options.readsSecrets,
    });
  }
  if (answer.kind === 'instance') {
    const message = `${answer.nodeName ?? mac} boots its instance`;
    return instanceScript(answer.instance, message, options.kernelParams);
  }
  if (answer.kind === 'volume') {
    return volumeScript(answer.volume, `${answer.nodeName ?? mac} boots from its volume`);
  }
  if (answer.kind === 'local disk') {
    return localDiskScript({ bootMode: answer.bootMode, message: `${answer.nodeName ?? mac} boots from its disk` });
  }
  if (options.discovery) return ramdiskScript({ ...common, inspects: true });
  const message = `no node has a port with address ${mac}, and discovery is off: booting from disk`;
  return localDiskScript({ bootMode: undefined, message });
}

function script(text: string): Response {
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    // HTTP boot firmware asks for the size by HEAD first
    'content-length': String(Buffer.byteLength(text)),
  };
  return new Response(text, { headers });
}
