/** How slots for virtual media differ from the standard. */
export interface MediaFaults {
  /** Properties that `InsertMedia` refuses to go without, beyond `Image`; one at a time. */
  readonly needs: readonly string[];
  /** Properties that it refuses. */
  readonly refuses: readonly string[];
  /** Status of both refusals, and where they name it. */
  readonly refusal: { readonly status: number; readonly named: 'in words' | 'as related' | 'nowhere' };
  /**
   * `unread`: Inserted is false until the machine reads of it. `always in`: Inserted is true, also of an empty slot.
   * `left over`: the name stays after the ejection, without a connection. `never in`: Inserted and ConnectedVia are null.
   */
  readonly shows: 'as it is' | 'unread' | 'always in' | 'left over' | 'never in';
  /** Changes the name that a slot shows for each image. */
  readonly showsImage: ((image: string) => string) | undefined;
  /** So many insertions after an ejection are answered 500: it is still under way. */
  readonly busyAfterEject: number;
  /** So many insertions are taken and forgotten. */
  readonly forgets: number;
  /** An empty slot refuses to be emptied. */
  readonly ejectsFullOnly: boolean;
  /** The authority that signed the image server's certificate (PEM); slots verify it where they are told to. */
  readonly imageAuthority: string | undefined;
  /** `VerifyCertificate` stays as it is. */
  readonly keepsVerify: boolean;
}

export const standardMedia: MediaFaults = {
  needs: [],
  refuses: [],
  refusal: { status: 400, named: 'in words' },
  shows: 'as it is',
  showsImage: undefined,
  busyAfterEject: 0,
  forgets: 0,
  ejectsFullOnly: false,
  imageAuthority: undefined,
  keepsVerify: false,
};

export interface SimulatedSlot {
  readonly id: string;
  /** `MediaTypes`; `null` = it doesn't say. */
  readonly types: readonly string[] | null;
  /** Image that is in it from the start, and whether it stays there. */
  readonly holds?: { readonly image: string; readonly via: 'Applet' | 'URI'; readonly isKept?: boolean };
  /** Status that `InsertMedia` is answered with; 405: it isn't even listed. */
  readonly refuses?: number;
  /** Status that it is read with. */
  readonly unreadable?: number;
}
