/* Preloaded under MPICH over UCX: lets MPI_Finalize end. MPICH 4.0 closes its endpoints, for which
 * it needs its peers' answers, and then waits for all ranks without answering any more: over TCP
 * most runs of more than two ranks hang there. Here an endpoint stays as it is until the ranks have
 * met, and goes with its worker. What a rank has sent must have come before it ends. */
void *ucp_disconnect_nb(void *endpoint); /* as in ucp/api/ucp.h; NULL: done */

void *ucp_disconnect_nb(void *endpoint)
{
    (void)endpoint;
    return (void *)0;
}
