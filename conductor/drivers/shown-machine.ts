/** Parts of a machine that its BMC is asked for, by their names in an inventory. */
export const shownParts = ['cpu', 'memory', 'interfaces', 'disks'] as const;
export type ShownPart = (typeof shownParts)[number];

export interface ShownCpu {
  /** Architecture as the kernel names it: `x86_64`, `aarch64`. */
  readonly architecture: string | undefined;
  /** Number of logical processors. */
  readonly count: number | undefined;
  readonly sockets: number | undefined;
  readonly model: string | undefined;
  readonly maxMhz: number | undefined;
}

export interface ShownCard {
  /** The BMC's id of it. */
  readonly name: string;
  /** In lower case, with colons. */
  readonly mac: string;
  /** Whether the BMC says that it is switched off. */
  readonly isDisabled: boolean;
  /** `undefined`: it doesn't tell, as of many machines that are off. */
  readonly hasLink: boolean | undefined;
  readonly speedMbps: number | undefined;
}

/** A disk as the operating system may see it: a volume, or a drive that is in none. */
export interface ShownDisk {
  /** The BMC's id of it. */
  readonly name: string;
  /** `null`: not known. */
  readonly sizeBytes: number | null;
  readonly model: string | null;
  readonly vendor: string | null;
  readonly serial: string | null;
  /** The WWN as the operating system shows it. */
  readonly wwn: string | null;
  readonly rotational: boolean | null;
  readonly tran: string | null;
}

/** A reason why a part is not known, or may have more than is shown. */
export interface UnknownPart {
  readonly part: ShownPart;
  readonly why: string;
}

/** A machine as its BMC shows it. BMCs show what they see: of what is missing nothing is known. */
export interface ShownMachine {
  readonly vendor: {
    readonly manufacturer: string | undefined;
    readonly model: string | undefined;
    readonly serial: string | undefined;
    readonly uuid: string | undefined;
  };
  readonly cpu: ShownCpu | undefined;
  readonly memoryMb: number | undefined;
  readonly cards: readonly ShownCard[];
  readonly disks: readonly ShownDisk[];
  /** In the BMC's words; a part that is named here is incomplete. */
  readonly unknown: readonly UnknownPart[];
}
