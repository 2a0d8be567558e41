/** One value that an operator types, and what it changes of the node. */
export interface Correction {
  readonly label: string;
  /** It is neither shown while it is typed nor in the command. */
  readonly isSecret?: boolean;
  /** Makes the operations of the JSON patch. */
  readonly write: (text: string) => readonly PatchOperation[];
}

interface PatchOperation {
  readonly op: 'add';
  readonly path: string;
  readonly value: unknown;
}

/** Corrections that stand together in one dialog. */
interface Corrections {
  readonly title: string;
  readonly meaning: string;
  readonly fields: readonly Correction[];
}

const add = (path: string, value: unknown): PatchOperation => ({ op: 'add', path, value });
const field = (label: string, path: string, more: Pick<Correction, 'isSecret'> = {}): Correction => ({
  label,
  ...more,
  write: (text) => [add(path, text)],
});

const image: Corrections = {
  title: 'Correct the image',
  meaning: 'What is left empty stays as it is. Nothing is begun by it: rebuild the node afterwards.',
  fields: [
    field('URL of the image', '/instance_info/image_source'),
    {
      label: 'Checksum: 64 hex digits (sha256) or 128 (sha512)',
      write: (text) => {
        const digits = text.replace(/^sha(256|512):/, '');
        const algorithm = digits.length === 128 ? 'sha512' : 'sha256';
        return [add('/instance_info/image_os_hash_algo', algorithm), add('/instance_info/image_os_hash_value', digits)];
      },
    },
  ],
};

const rootDisk: Corrections = {
  title: 'Correct the root disk',
  meaning: 'The next deploy writes to this disk. Nothing is begun by it.',
  fields: [
    {
      label: 'Name of the root disk, such as /dev/sdb',
      write: (text) => [add('/properties/root_device', { name: text })],
    },
  ],
};

/** Prefix of a driver's fields in `driver_info`; a driver that is not here has none that people correct. */
const prefixes: Readonly<Record<string, string>> = { redfish: 'redfish', idrac: 'redfish', ipmi: 'ipmi' };

function bmcOf(driver: string): Corrections | undefined {
  const prefix = prefixes[driver];
  if (prefix === undefined) return undefined;
  return {
    title: 'Correct the BMC’s login',
    meaning: 'What is left empty stays as it is. Nothing is begun by it: try again afterwards.',
    fields: [
      field('Address of the BMC', `/driver_info/${prefix}_address`),
      field('User', `/driver_info/${prefix}_username`),
      field('Password', `/driver_info/${prefix}_password`, { isSecret: true }),
    ],
  };
}

/** Finds the values of a node that a person can correct after a failure with this code. Pure. */
export function correctionsFor(driver: string, code: string): Corrections | undefined {
  if (/^bmc_(login|unreachable|silent|certificate|settings)$/.test(code)) return bmcOf(driver);
  if (code === 'image_too_large' || code === 'disk_choice' || code === 'disk_failing') {
    return code === 'image_too_large' ? { ...image, fields: [...image.fields, ...rootDisk.fields] } : rootDisk;
  }
  return code.startsWith('image_') ? image : undefined;
}
