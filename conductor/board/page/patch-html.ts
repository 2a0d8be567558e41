/** Changes a page that is shown only where it differs, so that nothing moves under a pointer or loses the keyboard. */

/** A node of the DOM. */
export interface PatchNode {
  readonly nodeType: number;
  readonly nodeName: string;
  nodeValue: string | null;
  readonly firstChild: PatchNode | null;
  readonly nextSibling: PatchNode | null;
  readonly childNodes: Iterable<PatchNode>;
  readonly attributes?: Iterable<{ readonly name: string; readonly value: string }>;
  getAttribute?(name: string): string | null;
  setAttribute?(name: string, value: string): void;
  removeAttribute?(name: string): void;
  appendChild(child: PatchNode): unknown;
  removeChild(child: PatchNode): unknown;
  replaceChild(child: PatchNode, former: PatchNode): unknown;
}

/** Attributes of the reader's: what the reader has opened stays open. */
const ofReader: ReadonlySet<string> = new Set(['open']);

/** Makes the children of `shown` those of `wanted`, whose nodes it may take. */
export function patchChildren(shown: PatchNode, wanted: PatchNode): void {
  let former = shown.firstChild;
  // a live list: what is taken leaves it
  const children = [...wanted.childNodes];
  for (const child of children) {
    const next: PatchNode | null = former?.nextSibling ?? null;
    if (!former) shown.appendChild(child);
    else if (isSame(former, child)) patchNode(former, child);
    else shown.replaceChild(child, former);
    former = next;
  }
  while (former) {
    const next: PatchNode | null = former.nextSibling;
    shown.removeChild(former);
    former = next;
  }
}

/**
 * Recognizes the same thing: with an id it is a thing of its own, and no other takes its place, and the focus that it
 * has.
 */
function isSame(former: PatchNode, wanted: PatchNode): boolean {
  return former.nodeName === wanted.nodeName && former.getAttribute?.('id') === wanted.getAttribute?.('id');
}

/** Makes a node of the page like the one that is wanted, which is the same thing. */
export function patchNode(former: PatchNode, wanted: PatchNode): void {
  if (!former.attributes || !wanted.attributes) {
    if (former.nodeValue !== wanted.nodeValue) former.nodeValue = wanted.nodeValue;
    return;
  }
  const names = new Set<string>();
  for (const { name, value } of wanted.attributes) {
    names.add(name);
    if (former.getAttribute?.(name) !== value) former.setAttribute?.(name, value);
  }
  const known = [...former.attributes];
  for (const { name } of known) if (!names.has(name) && !ofReader.has(name)) former.removeAttribute?.(name);
  patchChildren(former, wanted);
}
