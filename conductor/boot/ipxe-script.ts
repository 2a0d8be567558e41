import type { BootMode } from '#conductor/model/power-and-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** An iSCSI disk that iPXE attaches and boots from. */
export interface BootVolume {
  /** `iscsi:192.0.2.5::3260:1:iqn.2026-01.org.example:disk` */
  readonly sanUri: string;
  readonly initiatorIqn: string | undefined;
  /** CHAP. */
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/**
 * iPXE scripts, as text. iPXE splits lines at blanks, expands `${…}` everywhere and knows no quotes, so that values are
 * refused rather than escaped. Written for iPXE of 2019 too, which is in QEMU's network cards.
 */

/** The system that a machine that asks over the network shall boot. */
export type BootAnswer =
  | {
      readonly kind: 'ramdisk';
      /** The node's own kernel parameters: `driver_info.kernel_append_params`. */
      readonly kernelParams?: string | undefined;
      /** For the console: the node's name or UUID. */
      readonly nodeName?: string | undefined;
      /** The ramdisk is to report the machine by itself, with what the switches say. */
      readonly inspects?: boolean | undefined;
      /** The machine is to fetch this boot's token. */
      readonly fetchesToken?: boolean | undefined;
      /** URLs of the node's own ramdisk. */
      readonly own?: { readonly kernel: string; readonly ramdisk: string } | undefined;
      /** The id that the agent's requests have, as of the request that it works for. */
      readonly globalRequestId?: string | null | undefined;
    }
  | { readonly kind: 'local disk'; readonly bootMode: BootMode | undefined; readonly nodeName?: string | undefined }
  | { readonly kind: 'volume'; readonly volume: BootVolume; readonly nodeName?: string | undefined }
  | { readonly kind: 'instance'; readonly instance: BootedInstance; readonly nodeName?: string | undefined }
  | { readonly kind: 'unknown' };

/** An instance that is not a disk: URLs of an ISO, or of a kernel and its ramdisk. */
export type BootedInstance =
  | { readonly kind: 'iso'; readonly url: string }
  | { readonly kind: 'kernel'; readonly kernel: string; readonly ramdisk: string; readonly kernelParams: string };

/** Before the ramdisk, as `secretsArchive` has it. */
const secretsName = 'secrets.img';
const retrySeconds = 5;
/** Then the machine goes on to its next boot device: a running system must come back up without a conductor. */
const maxTries = 60;

/** The first script, the same for every machine: asks what to boot, again while nobody answers. */
export function firstScript(publicUrl: string): string {
  const base = checkUrl('publicUrl', publicUrl);
  return lines([
    '#!ipxe',
    'set tries:int32 0',
    ':ask',
    'echo Baton: asking what to boot (${netX/mac})',
    // --replace: the answer's own exit status must reach the firmware, not this script
    `chain --replace ${base}/boot/node.ipxe?mac=\${netX/mac:hexhyp}&platform=\${platform} || goto failed`,
    ':failed',
    'inc tries',
    `iseq \${tries} ${maxTries} && goto give_up ||`,
    `echo Baton: no answer, trying again in ${retrySeconds} s (\${tries} of ${maxTries})`,
    `sleep ${retrySeconds}`,
    'goto ask',
    ':give_up',
    'echo Baton: no answer, going on to the next boot device',
    'exit 1',
  ]);
}

export interface RamdiskParams {
  /** Address of the files. */
  readonly publicUrl: string;
  /** The API that the agent calls; default `publicUrl`. `isInsecure`: it is not to check the API's certificate. */
  readonly agentApi?: { readonly url: string; readonly isInsecure: boolean } | undefined;
  /** Parameters for every node, from the configuration. */
  readonly defaultKernelParams: string;
  /** The node's own; they replace the defaults, which `%default%` in them stands for, as in Ironic. */
  readonly kernelParams?: string | undefined;
  readonly inspects?: boolean | undefined;
  readonly globalRequestId?: string | null | undefined;
}

/**
 * The ramdisk's kernel command line; `own` are the parameters of this way to boot.
 * @throws AppError `invalid_argument` naming the value that can't stand there.
 */
export function ramdiskParams(options: RamdiskParams, own: readonly string[]): string {
  const extra = joinKernelParams(options.defaultKernelParams, options.kernelParams);
  const api = checkUrl('agentApi.url', options.agentApi?.url ?? checkUrl('publicUrl', options.publicUrl));
  const parts = [
    `ipa-api-url=${api}`,
    ...(options.agentApi?.isInsecure ? ['ipa-insecure=1'] : []),
    ...(options.globalRequestId ? [`ipa-global-request-id=${options.globalRequestId}`] : []),
    'console=tty0 console=ttyS0,115200',
    ...(options.inspects ? [`ipa-inspection-callback-url=${api}/v1/continue_inspection`, 'ipa-collect-lldp=1'] : []),
    ...own,
    extra,
  ];
  return parts.filter((part) => part !== '').join(' ');
}

/**
 * Boots the agent's ramdisk.
 * @param mac lower-case, with colons
 * @throws AppError `invalid_argument` naming the value that can't stand in a script.
 */
export function ramdiskScript(
  options: RamdiskParams & {
    readonly mac: string;
    readonly nodeName?: string | undefined;
    readonly fetchesToken?: boolean | undefined;
    readonly own?: { readonly kernel: string; readonly ramdisk: string } | undefined;
  },
): string {
  const base = checkUrl('publicUrl', options.publicUrl);
  // UEFI kernels find the ramdisk by the name of the initrd; BIOS ones don't need it
  const kernelLine = ramdiskParams(options, [
    `BOOTIF=${options.mac}`,
    ...(options.fetchesToken ? [`initrd=${secretsName}`] : []),
    'initrd=initrd.img',
  ]);
  // so that it is known which machine loads them
  const of = `?mac=${options.mac.replaceAll(':', '-')}`;
  const [kernel, ramdisk] = options.own
    ? [fileUrl(options.own.kernel), fileUrl(options.own.ramdisk)]
    : [`${base}/boot/vmlinuz${of}`, `${base}/boot/initrd.img${of}`];
  const secrets = `initrd --name ${secretsName} ${base}/boot/${secretsName}${of} || goto failed`;
  return lines([
    '#!ipxe',
    `echo Baton: booting the ramdisk for ${consoleText(options.nodeName ?? 'an unknown machine')} (${options.mac})`,
    // images of an earlier attempt would be handed to the kernel too
    'imgfree',
    `kernel --name vmlinuz ${kernel} ${kernelLine} || goto failed`,
    ...(options.fetchesToken ? [secrets] : []),
    `initrd --name initrd.img ${ramdisk} || goto failed`,
    'boot vmlinuz || goto failed',
    ':failed',
    `echo Baton: the ramdisk could not be booted, asking again in ${retrySeconds} s`,
    'imgfree',
    `sleep ${retrySeconds}`,
    `chain --replace ${base}/boot/boot.ipxe || exit 1`,
  ]);
}

/**
 * Boots from the machine's own disk.
 * - UEFI: a boot option that ends with another status than success makes the firmware try the next one; after success
 *   it may stop in its menu (UEFI 2.10 §3.1.1), hence `exit 1`.
 * - BIOS: the first disk is started from here, because many BIOSes don't go on to the next device once a boot ROM has
 *   returned; where that fails, leaving is all that is left.
 */
export function localDiskScript(options: {
  readonly bootMode: BootMode | undefined;
  readonly message: string;
}): string {
  const message = `echo Baton: ${consoleText(options.message)}`;
  const bios = ['sanboot --no-describe --drive 0x80 || exit 1'];
  if (options.bootMode === 'uefi') return lines(['#!ipxe', message, 'exit 1']);
  if (options.bootMode === 'bios') return lines(['#!ipxe', message, ...bios]);
  return lines(['#!ipxe', message, 'iseq ${platform} pcbios || exit 1', ...bios]);
}

/**
 * Boots from a remote disk. `set …` outlives the script, so that what an earlier answer set is cleared.
 * @throws AppError `invalid_argument` for a value that can't stand in a script.
 */
export function volumeScript(volume: BootVolume, message: string): string {
  const setting = (name: string, value: string | undefined): string => {
    if (value === undefined) return `clear ${name} ||`;
    if (!/^[\x21-\x7e]+$/.test(value) || value.includes('${')) {
      throw new AppError('invalid_argument', `${name} of the boot volume must be printable ASCII without blanks`);
    }
    // never said which: it is a password
    if (isOperator(value)) {
      throw new AppError(
        'invalid_argument',
        `${name} of the boot volume must not be a word at which iPXE ends the command`,
      );
    }
    return `set ${name} ${value}`;
  };
  return lines([
    '#!ipxe',
    `echo Baton: ${consoleText(message)}`,
    setting('initiator-iqn', volume.initiatorIqn),
    setting('username', volume.username),
    setting('password', volume.password),
    `sanboot --no-describe ${volume.sanUri} || goto failed`,
    ':failed',
    `echo Baton: the volume could not be booted, trying again in ${retrySeconds} s`,
    `sleep ${retrySeconds}`,
    'exit 1',
  ]);
}

/**
 * Boots an instance from its files. Of an ISO only what its boot loader has loaded by then is there later: iPXE's drive
 * ends with it.
 * @throws AppError `invalid_argument` for a value that can't stand in a script.
 */
export function instanceScript(instance: BootedInstance, message: string, defaultKernelParams: string): string {
  const boot =
    instance.kind === 'iso'
      ? [`sanboot --no-describe ${fileUrl(instance.url)} || goto failed`]
      : [
          `kernel --name kernel ${fileUrl(instance.kernel)} initrd=ramdisk ${instanceParams(instance, defaultKernelParams)} || goto failed`,
          `initrd --name ramdisk ${fileUrl(instance.ramdisk)} || goto failed`,
          'boot kernel || goto failed',
        ];
  return lines([
    '#!ipxe',
    `echo Baton: ${consoleText(message)}`,
    'imgfree',
    ...boot,
    ':failed',
    `echo Baton: the instance could not be booted, trying again in ${retrySeconds} s`,
    `sleep ${retrySeconds}`,
    'exit 1',
  ]);
}

function instanceParams({ kernelParams }: { readonly kernelParams: string }, defaults: string): string {
  return joinKernelParams(defaults, kernelParams, 'instance_info.kernel_append_params');
}

function fileUrl(url: string): string {
  if (/^https?:\/\/[\x21-\x7e]+$/.test(url) && !url.includes('${')) return url;
  throw new AppError('invalid_argument', `${JSON.stringify(url)} must be an http(s) URL without blanks`);
}

/**
 * The parameters that are added to the kernel's command line; `%default%` in the node's stands for the configuration's.
 * @throws AppError `invalid_argument` naming `kernel_append_params` (or the configuration's setting) and the fault.
 */
export function joinKernelParams(
  defaults: string,
  own: string | undefined,
  field = 'driver_info.kernel_append_params',
): string {
  const checkedDefaults = checkKernelParams('BATON_KERNEL_PARAMS', defaults);
  if (own === undefined) return checkedDefaults;
  return checkKernelParams(field, own)
    .replaceAll('%default%', () => checkedDefaults)
    .trim();
}

function checkKernelParams(field: string, params: string): string {
  const bad = (why: string): AppError =>
    new AppError('invalid_argument', `${field} must be printable ASCII in one line without iPXE syntax: it has ${why}`);
  if (/[\r\n]/.test(params)) throw bad('a line break');
  if (/[^\x20-\x7e]/.test(params)) throw bad('a character that is not printable ASCII');
  if (params.includes('${')) throw bad('${, which iPXE would expand');
  const words = params.trim().split(/ +/);
  const operator = words.find(isOperator);
  if (operator !== undefined) throw bad(`the word ${operator}, at which iPXE would end the command`);
  return words.join(' ');
}

/** iPXE splits a line at blanks, and these words end the command. */
function isOperator(word: string): boolean {
  return word === '||' || word === '&&' || word.startsWith('#');
}

function checkUrl(field: string, url: string): string {
  if (!/^https?:\/\/[^\s/?#${}]+(\/[^\s?#${}]*)?$/.test(url) || !URL.canParse(url)) {
    throw new AppError(
      'invalid_argument',
      `${field} must be an http(s) URL without query and blanks; it is ${JSON.stringify(url)}`,
    );
  }
  return url.replace(/\/+$/, '');
}

/** Text for `echo`: what iPXE would act on is left out. */
function consoleText(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9 .,:_~()/-]/g, '?').slice(0, 200);
}

function lines(script: readonly string[]): string {
  return `${script.join('\n')}\n`;
}
