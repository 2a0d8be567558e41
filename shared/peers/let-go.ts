/**
 * Gives the memory of bytes back at once. It lies outside of the heap whose filling wakes the garbage collector, which
 * otherwise leaves several bodies' bytes behind.
 */
export function letGo({ buffer, byteLength }: Uint8Array): void {
  // small ones share theirs with others
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
